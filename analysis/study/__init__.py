"""Selection of runs, tuning and statistics."""
