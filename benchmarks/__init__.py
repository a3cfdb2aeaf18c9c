"""Measurements of bench/perf.py, one file for each part of the suite."""
