"""One folder per run."""
