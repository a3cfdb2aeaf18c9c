"""Sweeps: compute a list of runs, here or on a cluster, and record and track the results."""
