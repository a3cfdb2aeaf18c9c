"""Shipped methods, each wrong in one way: those of the paper, and families with mistakes of their own."""

from tests.bench.contracts.mutants import (
    averages,
    differences,
    directed,
    normalized,
    recursive,
    released,
    steps,
    tracking,
)
from tests.bench.contracts.mutants.table import MUTANTS

__all__ = ["MUTANTS", "averages", "differences", "directed", "normalized", "recursive", "released", "steps", "tracking"]
