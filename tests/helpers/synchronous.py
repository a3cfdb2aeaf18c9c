"""The methods that tests with synchronous rounds use."""

from bench.base.registry import algorithms

SYNCHRONOUS = [name for name in algorithms if not algorithms[name].properties.asynchronous]
"""All registered methods except the asynchronous ones, which have tests of their own."""
