"""Figures that only the paper needs."""
