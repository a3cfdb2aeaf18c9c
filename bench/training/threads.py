"""The number of torch's threads that suits the work: small operations are faster on one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from bench.problem.problem import Problem

SMALL = 5_000_000
"""Multiplications of all nodes in one gradient up to which one thread is as fast as two: measured on a perceptron of
a9a's size (2 million: 1.0 times as fast with two threads) and on one of MNIST's size (13 million: 1.4 times)."""


def step_threads(problem: Problem) -> int:
    """Return the number of threads for the steps of a run, at most those that torch has now.

    It depends on the size of one run alone, not on the speed of the machine or on the runs of its group, because
    another number of threads may round differently.
    """
    setting = problem.setting
    work = len(setting.hosted) * max(setting.batch_size * problem.layout.size, problem.work)
    return torch.get_num_threads() if work > SMALL else 1


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let torch use this number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
