"""Which runs the paper's comparisons are about, and its published numbers."""

from analysis.study.figure_options import FigureOptions

PAPER = FigureOptions(schedule="diminishing")
"""The methods as the paper compares them."""
