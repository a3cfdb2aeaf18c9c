"""From a list of runs to a table of results, here or on a cluster; what stays of a run, and who is told."""
