"""Facts about the gradients of a tape, prepared once for all evaluations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bench.events.rows import Kind


class Gradients(NamedTuple):
    """The gradients of a tape, (G,), and sums over the first 0, 1, …, G of them, (G + 1,).

    Attributes:
        rows: The rows of the gradients on the tape, increasing.
        changes: The sums of the staleness of gradients in events.
        most: The maxima of the same.
        waited: The sums of the staleness of gradients in nanoseconds.
        longest: The maxima of the same.
        order: The gradients sorted by node, then by time: indices into ``rows``.
        first: The place of the first gradient of each node in ``order``, (n + 1,).
        busy: The sums of compute times in the order of ``order``.
    """

    rows: np.ndarray
    changes: np.ndarray
    most: np.ndarray
    waited: np.ndarray
    longest: np.ndarray
    order: np.ndarray
    first: np.ndarray
    busy: np.ndarray


def gradients_of(
    kind: np.ndarray,
    node: np.ndarray,
    peer: np.ndarray,
    time: np.ndarray,
    begins: np.ndarray,
    computed: np.ndarray,
    nodes: int,
) -> Gradients:
    """Return the gradients of a tape with these columns."""
    rows = np.flatnonzero(kind == Kind.GRADIENT)
    order = np.argsort(node[rows], kind="stable")
    first = np.searchsorted(node[rows][order], np.arange(nodes + 1))
    changes, age = _changes(kind, node, peer, rows, order), time[rows] - begins[rows]
    lasted = (computed - begins)[rows][order]
    return Gradients(
        rows, _sums(changes), _maxima(changes), _sums(age), _maxima(age), order, first, np.append(0, np.cumsum(lasted))
    )


def _changes(kind: np.ndarray, node: np.ndarray, peer: np.ndarray, rows: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return how many events changed the model of the node between begin and end of each gradient, (G,).

    These are messages to the node and averages with it, after the node's last gradient.
    """
    pair, heard = np.flatnonzero(kind == Kind.PAIR), np.flatnonzero(kind != Kind.GRADIENT)
    where, who = np.concatenate([heard, pair]), np.concatenate([node[heard], peer[pair]])
    size = len(kind) + 1
    changed = np.sort(who.astype(np.int64) * size + where)
    gradient = node[rows][order].astype(np.int64) * size + rows[order]
    seen = np.searchsorted(changed, gradient)  # changes of earlier nodes, and of this node before the gradient
    begin = np.append(0, gradient[:-1])
    new = node[rows][order] != np.append(-1, node[rows][order][:-1])
    begin[new] = node[rows][order][new].astype(np.int64) * size
    out = np.empty(len(rows), dtype=np.int64)
    out[order] = seen - np.searchsorted(changed, begin)
    return out


def _sums(values: np.ndarray) -> np.ndarray:
    return np.append(0.0, np.cumsum(values, dtype=np.float64))


def _maxima(values: np.ndarray) -> np.ndarray:
    return np.append(0, np.maximum.accumulate(values))
