"""The harness: everything that is not an algorithm, a dataset or a figure."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported: threads that wait must not spin
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "1000")  # ms; else torch gives memory back in a step and gets it anew

from bench.base import imported as imported  # before anything else of the suite: it says what was imported

__version__ = "0.2.0"
