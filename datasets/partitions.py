"""Which node holds which samples. Every sample lies on exactly one node."""

from __future__ import annotations

import numpy as np

from bench.base.errors import UserError
from bench.base.options import Count, Positive
from bench.problem import partition


@partition("even")
def even(labels: np.ndarray, nodes: int, g: np.random.Generator) -> list[np.ndarray]:
    """Contiguous shards in the dataset's own order, sizes differing by at most one."""
    return np.array_split(np.arange(len(labels)), nodes)


@partition("iid")
def iid(labels: np.ndarray, nodes: int, g: np.random.Generator) -> list[np.ndarray]:
    """Shuffled, then even."""
    return np.array_split(g.permutation(len(labels)), nodes)


@partition("dirichlet")
def dirichlet(labels: np.ndarray, nodes: int, g: np.random.Generator, alpha: Positive = 0.5) -> list[np.ndarray]:
    """Label skew: each class is divided among the nodes in proportions drawn from Dirichlet(alpha, …, alpha)."""
    parts: list[list[np.ndarray]] = [[] for _ in range(nodes)]
    for label in np.unique(labels):
        rows = g.permutation(np.flatnonzero(labels == label))
        cuts = np.cumsum(g.dirichlet(np.full(nodes, alpha)))[:-1] * len(rows)
        for part, piece in zip(parts, np.split(rows, cuts.astype(int)), strict=True):
            part.append(piece)
    return _nobody_empty([np.concatenate(part) for part in parts])


@partition("by_label")
def by_label(labels: np.ndarray, nodes: int, g: np.random.Generator, pieces: Count = 2) -> list[np.ndarray]:
    """Sorted by label and cut into ``pieces`` per node, which are dealt out: most nodes see few classes."""
    if nodes * pieces > len(labels):
        raise UserError(f"partition.pieces={pieces} for {nodes} nodes is more pieces than {len(labels)} samples.")
    rows = g.permutation(len(labels))
    cut = np.array_split(rows[np.argsort(labels[rows], kind="stable")], nodes * pieces)
    deal = g.permutation(nodes * pieces).reshape(nodes, pieces)
    return [np.concatenate([cut[piece] for piece in hand]) for hand in deal]


@partition("quantity")
def quantity(labels: np.ndarray, nodes: int, g: np.random.Generator, alpha: Positive = 1.0) -> list[np.ndarray]:
    """Shuffled, in shards of sizes drawn from Dirichlet(alpha, …, alpha)."""
    cuts = np.cumsum(g.dirichlet(np.full(nodes, alpha)))[:-1] * len(labels)
    return _nobody_empty(np.split(g.permutation(len(labels)), cuts.astype(int)))


def _nobody_empty(parts: list[np.ndarray]) -> list[np.ndarray]:
    """An empty node is given a sample of the largest."""
    for i, part in enumerate(parts):
        if len(part) == 0:
            largest = max(range(len(parts)), key=lambda j: len(parts[j]))
            parts[i], parts[largest] = parts[largest][-1:], parts[largest][:-1]
    return parts
