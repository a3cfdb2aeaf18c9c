"""Metrics of plug-ins must be the same in all processes of a run."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch

from bench.base.errors import UserError
from bench.training.agreement import must_agree

NODES = 5


class Rank:
    """One of several threads, each of which hosts some nodes."""

    nodes = NODES

    def __init__(self, shares, barrier, hosted):
        self.shares, self.barrier, self.hosted = shares, barrier, hosted

    def total(self, share):
        self.shares.append(share)
        self.barrier.wait(timeout=60)
        return torch.stack(self.shares).sum(0)


def outcomes(values):
    """What every rank raises, if rank i has the metrics values[i]."""
    parts = np.array_split(np.arange(NODES), len(values))
    shares, barrier = [], Barrier(len(values))
    ranks = [Rank(shares, barrier, range(part[0], part[-1] + 1)) for part in parts]

    def raised(rank, own):
        try:
            must_agree(own, rank)
        except UserError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(len(values)) as pool:
        return list(pool.map(raised, ranks, values))


@pytest.mark.parametrize("value", [0.25, 0.0, np.nan, np.inf, 1e300])
def test_equal_metrics_and_rounding_errors_are_accepted(value):
    both = [{"a": np.array([1.0]), "b": np.array([value, 2.0])} for _ in range(3)]
    both[2]["a"] = both[2]["a"] + 1e-12
    assert outcomes(both) == [None] * 3


@pytest.mark.parametrize("other", [0.14063, np.nan, np.inf])
def test_all_ranks_reject_a_metric_that_one_of_them_computes_differently(other):
    values = [{"fine": np.array([1.0]), "stray": np.array([2.0, value])} for value in (0.14748, 0.14748, other)]
    said = outcomes(values)
    assert len(set(said)) == 1
    assert all(part in said[0] for part in ("stray", "0.14748", f"{other:g}", "rank 2", "view.total"))


def test_one_process_exchanges_nothing():
    must_agree({"mine": np.array([1.0])}, Rank([], None, range(NODES)))
