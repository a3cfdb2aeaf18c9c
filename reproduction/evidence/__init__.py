"""Statistics of the claims, one file per topic."""
