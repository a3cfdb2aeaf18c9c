"""What bench/perf.py measures, one file for each part of the suite."""
