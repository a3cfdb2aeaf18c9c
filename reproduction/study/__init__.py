"""Which runs the paper's comparisons are about, and its published numbers."""

from analysis.study.ask import Ask

PAPER = Ask(schedule="diminishing")
"""The methods as the paper compares them."""
