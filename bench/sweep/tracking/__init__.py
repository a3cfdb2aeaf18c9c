"""Runs as Weights & Biases runs."""
