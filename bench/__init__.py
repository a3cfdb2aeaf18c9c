"""The harness: everything that is not an algorithm, a dataset or a figure."""

from bench.base import imported as imported  # first: it records the imports

__version__ = "0.1.0"
