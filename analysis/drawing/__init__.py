"""The look of all figures."""
