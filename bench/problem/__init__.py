"""f, its gradient, and what is measured of it."""

from bench.problem.arrays import Arrays
from bench.problem.losses import Loss, Score, loss
from bench.problem.problem import Column, Evaluation, Problem, Setting, dataset, hosted_share, vector_layout
from bench.problem.regularised import Regulariser, regulariser
from bench.problem.supervised import partition

__all__ = [
    "Arrays",
    "Column",
    "Evaluation",
    "Loss",
    "Problem",
    "Regulariser",
    "Score",
    "Setting",
    "dataset",
    "hosted_share",
    "loss",
    "partition",
    "regulariser",
    "vector_layout",
]
