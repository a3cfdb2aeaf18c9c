"""Partitions of the training samples over the nodes. Every sample belongs to exactly one node."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from bench.base.errors import UserError
from bench.base.options import Count, Neutral, Positive
from bench.problem import partition


@partition("even")
def even(labels: np.ndarray, nodes: int, g: np.random.Generator) -> list[np.ndarray]:
    """Contiguous shards in the dataset's own order, sizes differing by at most one."""
    return np.array_split(np.arange(len(labels)), nodes)


@partition("iid")
def iid(labels: np.ndarray, nodes: int, g: np.random.Generator) -> list[np.ndarray]:
    """Shuffled shards, sizes differing by at most one."""
    return np.array_split(g.permutation(len(labels)), nodes)


@partition("dirichlet")
def dirichlet(
    labels: np.ndarray,
    nodes: int,
    g: np.random.Generator,
    alpha: Positive = 0.5,
    equal: Annotated[bool, Neutral(False)] = False,
) -> list[np.ndarray]:
    """Label skew: each class is divided among the nodes in proportions drawn from Dirichlet(alpha, …, alpha).

    With ``equal``, the proportions are fitted to shards of one size. Every sample then has the same weight in f, so
    that f, its class prior and its minimizer do not depend on the partition.
    """
    rows, proportions = [], []
    for label in np.unique(labels):
        rows.append(g.permutation(np.flatnonzero(labels == label)))
        proportions.append(g.dirichlet(np.full(nodes, alpha)))
    if equal:
        counts = _fitted(np.stack(proportions), np.array([len(mine) for mine in rows]))
        cuts = [np.cumsum(row)[:-1] for row in counts]
    else:
        cuts = [(np.cumsum(p)[:-1] * len(mine)).astype(int) for p, mine in zip(proportions, rows, strict=True)]
    pieces = [np.split(mine, cut) for mine, cut in zip(rows, cuts, strict=True)]
    return _nobody_empty([np.concatenate(part) for part in zip(*pieces, strict=True)])


def _fitted(proportions: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return integer counts (classes, nodes) near these proportions.

    Rows sum to the sizes of the classes, columns to shards that differ by at most one. Iterative proportional fitting
    is rounded, and then corrected one sample at a time.
    """
    nodes = proportions.shape[1]
    shards = np.diff(np.linspace(0, sizes.sum(), nodes + 1).astype(int))
    table = np.maximum(proportions, 1e-9)
    for _ in range(500):
        table *= shards / table.sum(axis=0)
        table *= (sizes / table.sum(axis=1))[:, None]
    ends = np.cumsum(table, axis=1).round().astype(int)
    ends[:, -1] = sizes
    counts = np.diff(ends, axis=1, prepend=0)
    while (gap := counts.sum(axis=0) - shards).any():
        most, least = gap.argmax(), gap.argmin()
        label = counts[:, most].argmax()
        counts[label, most] -= 1
        counts[label, least] += 1
    return counts


@partition("by_label")
def by_label(labels: np.ndarray, nodes: int, g: np.random.Generator, pieces: Count = 2) -> list[np.ndarray]:
    """Samples sorted by label, cut into ``pieces`` per node and dealt at random: most nodes have few classes."""
    if nodes * pieces > len(labels):
        raise UserError(f"partition.pieces={pieces} for {nodes} nodes needs more than the {len(labels)} samples.")
    rows = g.permutation(len(labels))
    cut = np.array_split(rows[np.argsort(labels[rows], kind="stable")], nodes * pieces)
    deal = g.permutation(nodes * pieces).reshape(nodes, pieces)
    return [np.concatenate([cut[piece] for piece in hand]) for hand in deal]


@partition("quantity")
def quantity(labels: np.ndarray, nodes: int, g: np.random.Generator, alpha: Positive = 1.0) -> list[np.ndarray]:
    """Quantity skew: shuffled shards, with sizes drawn from Dirichlet(alpha, …, alpha)."""
    cuts = np.cumsum(g.dirichlet(np.full(nodes, alpha)))[:-1] * len(labels)
    return _nobody_empty(np.split(g.permutation(len(labels)), cuts.astype(int)))


def _nobody_empty(parts: list[np.ndarray]) -> list[np.ndarray]:
    """Give every empty node one sample of the largest shard."""
    for i, part in enumerate(parts):
        if len(part) == 0:
            largest = max(range(len(parts)), key=lambda j: len(parts[j]))
            parts[i], parts[largest] = parts[largest][-1:], parts[largest][:-1]
    return parts
