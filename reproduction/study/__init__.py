"""Selection of the runs that the paper compares, and its published numbers."""

from analysis.study.figure_options import FigureOptions

PAPER = FigureOptions(schedule="diminishing")
"""The paper compares methods with the diminishing schedule."""
