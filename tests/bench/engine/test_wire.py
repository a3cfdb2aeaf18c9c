"""Rows that ranks exchange, and the blocks that multiply them."""

import tracemalloc

import numpy as np
import pytest
import torch

from bench.engine.wire import SPARSE_FROM, Block, Rows, nodes_of_rank
from bench.network.drawn import build_network
from bench.network.links import Lossy
from bench.network.mixing import build_mixing
from bench.network.sparse import Sparse


@pytest.mark.parametrize("name", ["ring", "star", "random_digraph", "directed_ring", "matching"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_ranks_exchange_exactly_the_needed_rows(name, ranks):
    network = build_network(name, 8, {}, 0)
    w = network.at(0).any
    dense, plans = w.dense(), [Rows(w, ranks, rank) for rank in range(ranks)]
    for rank, plan in enumerate(plans):
        mine = nodes_of_rank(8, ranks, rank)
        others = [j for j in range(8) if j not in mine and dense[mine, j].any()]
        assert plan.columns.tolist() == [*mine, *others]
        local = plan.local(w)
        assert np.array_equal(_dense(local, len(plan.columns)), dense[np.ix_(mine, plan.columns)])
        sent = np.split(plan.pack, np.cumsum(plan.given)[:-1])
        for other in range(ranks):
            theirs = nodes_of_rank(8, ranks, other)
            wanted = [] if other == rank else [j for j in mine if dense[theirs, j].any()]
            assert (sent[other] + mine.start).tolist() == wanted
            assert plans[other].wanted[rank] == len(wanted)


def _dense(local, width):
    out = np.zeros((local.pattern.nodes, width))
    out[local.pattern.rows, local.pattern.columns] = local.values
    return out


@pytest.mark.parametrize("lossy", [False, True])
def test_memory_of_a_round_grows_with_its_edges(lossy):
    """512 nodes on 2 ranks."""
    n = 512
    network = build_network("random_each_round", n, {"p": 4 / n}, 0) if not lossy else build_mixing("torus", n)
    network = Lossy(p=0.1).over(network, 0) if lossy else network
    for r in range(16, 20):
        tracemalloc.start()
        w = network.at(r, r).any
        rows = Rows(w, 2, 0)
        rows.local(w)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 16 * 2 * 8 * n * 12 < 8 * n * n


def ring(n: int) -> np.ndarray:
    return (np.eye(n) + np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)) / 3


def test_blocks_are_sparse_for_many_nodes_with_few_neighbors():
    for dense, expected in ((ring(2 * SPARSE_FROM), True), (ring(64), False), (np.full((600, 600), 1 / 600), False)):
        w = Sparse.of_dense(dense)
        rows, mine = Rows(w, 2, 1), nodes_of_rank(len(dense), 2, 1)
        local, received = rows.local(w), torch.randn(len(rows.columns), 5, dtype=torch.float64)
        mixed = dense[np.ix_(mine, rows.columns)] @ received.numpy()
        for sparse in (False, True):
            block = Block(local, len(rows.columns), torch.float64, torch.device("cpu"), sparse)
            assert block.sparse is (expected or sparse)
            assert block(received).numpy() == pytest.approx(mixed, abs=1e-14)
            assert torch.equal(block(received.unsqueeze(0))[0], block(received))
