"""How fast it is: what bench/perf.py measures, a file for each part of the house."""
