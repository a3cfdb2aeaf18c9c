"""Readers for dataset=file."""
