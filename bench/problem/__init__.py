"""f, its gradient, and what is measured of it."""

from bench.problem.arrays import Arrays
from bench.problem.problem import Evaluation, Problem, Setting, dataset, hosted_share, vector_layout
from bench.problem.supervised import partition

__all__ = ["Arrays", "Evaluation", "Problem", "Setting", "dataset", "hosted_share", "partition", "vector_layout"]
