"""Models written for stacked parameters."""
