"""The five methods of the paper, each wrong in one way."""

from tests.bench.contracts.mutants import averages, differences, normalized, steps, tracking
from tests.bench.contracts.mutants.table import MUTANTS

__all__ = ["MUTANTS", "averages", "differences", "normalized", "steps", "tracking"]
