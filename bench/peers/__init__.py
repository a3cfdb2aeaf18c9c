"""Comparison of speed with other software, which hearsay does not install."""
