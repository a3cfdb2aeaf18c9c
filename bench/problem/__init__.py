"""Objectives: datasets, losses, regularizers and partitions, with gradients and evaluations."""

from bench.problem.arrays import Arrays
from bench.problem.losses import Loss, Score, loss
from bench.problem.problem import Column, Evaluation, Problem, dataset, vector_layout
from bench.problem.regularized import Regularizer, regularizer
from bench.problem.setting import Setting, hosted_share
from bench.problem.supervised import partition

__all__ = [
    "Arrays",
    "Column",
    "Evaluation",
    "Loss",
    "Problem",
    "Regularizer",
    "Score",
    "Setting",
    "dataset",
    "hosted_share",
    "loss",
    "partition",
    "regularizer",
    "vector_layout",
]
