"""Figures, tables and reports from a results folder. Reads results only: no torch, no MPI."""

from analysis.results.folder import load

__all__ = ["load"]
