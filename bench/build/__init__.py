"""The problem, method and network of a configuration, and the provenance of its results."""
