"""The harness: everything that is not an algorithm, a dataset or a figure."""

__version__ = "0.1.0"
