"""Short trajectories that no change may alter: cases.py says which, trajectories.json and counts.json hold them."""
