"""The harness: everything that is not an algorithm, a dataset or a figure."""

from bench.base import imported as imported  # before anything else of the suite: it says what was imported

__version__ = "0.1.0"
