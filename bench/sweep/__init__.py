"""From a list of runs to a table of results."""
