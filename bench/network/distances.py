"""The diameter of a graph, exactly: from few nodes where the others cannot be farther, else from all of them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from bench.network.closed_form import translations
from bench.network.sparse import Pattern

SEARCHES = 8
"""Nodes from which distances are measured one after the other before all others are taken at once."""
WORD = 64
"""Sources that one machine word holds."""
WIDE = 64
"""Rounds from which it is faster to search from one node after the other than from all at once."""


def diameter(matrix: sp.csr_array) -> int:
    """The most rounds that something takes from one node to another; the graph must be strongly connected.

    Where translations of the nodes leave the graph as it is, one node is as good as any. Where edges go both ways, a
    node at distance d from one whose eccentricity is e has one between max(d, e − d) and d + e: on paths, grids and
    trees that leaves no doubt after a few nodes.
    """
    n = matrix.shape[0]
    if matrix.nnz == n**2:
        return min(1, n - 1)
    heard = _pattern(matrix)
    if translations([(heard, np.ones(len(heard.rows)))]) is not None:
        return int(_from(matrix, 0).max())
    if (matrix != matrix.T).nnz:
        return _farthest(matrix, heard, np.arange(n), int(_from(matrix, 0).max()))
    least, most = np.zeros(n, dtype=np.int64), np.full(n, n - 1)
    for search in range(SEARCHES if len(heard.rows) < n**2 / 8 else 0):  # a dense graph is seldom wide
        doubt = most > least.max()
        if not doubt.any():
            return int(least.max())
        at = np.flatnonzero(doubt)  # in turns the one that may be farthest out, and the one that may be most central
        source = int(at[most[at].argmax() if search % 2 else least[at].argmin()])
        away = _from(matrix, source)
        out = int(away.max())
        least = np.maximum(least, np.maximum(away, out - away))
        most = np.minimum(most, away + out)
    rest = np.flatnonzero(most > least.max())
    return max(int(least.max()), _farthest(matrix, heard, rest, int(least.max())))


def _pattern(matrix: sp.csr_array) -> Pattern:
    """With the diagonal: who has been told is told."""
    whole = sp.csr_array(matrix + sp.eye_array(matrix.shape[0]))
    whole.sort_indices()
    rows = np.repeat(np.arange(whole.shape[0]), np.diff(whole.indptr))
    return Pattern(whole.shape[0], rows, whole.indices.astype(np.int64))


def _from(matrix: sp.csr_array, source: int | np.ndarray) -> np.ndarray:
    """Rounds from a node to every other, or from each of several."""
    # an entry in row i is what i hears: steps go from column to row
    return csgraph.dijkstra(sp.csr_array(matrix.T), unweighted=True, indices=source).astype(np.int64)


def _farthest(matrix: sp.csr_array, heard: Pattern, sources: np.ndarray, least: int) -> int:
    """The largest eccentricity of these nodes, where one is known to be no smaller than ``least``."""
    if least < WIDE:
        return spread(heard, sources)
    chunks = (sources[at : at + 4 * WORD] for at in range(0, len(sources), 4 * WORD))
    return max((int(_from(matrix, chunk).max()) for chunk in chunks), default=0)


def spread(heard: Pattern, sources: np.ndarray) -> int:
    """The rounds until what each of these nodes says is everywhere: every node holds a bit for each of them."""
    if not len(sources):
        return 0
    n, words = heard.nodes, -(-len(sources) // WORD)
    told = np.zeros((n, words), dtype=np.uint64)
    every = np.arange(len(sources))
    told[sources, every // WORD] = np.left_shift(np.uint64(1), (every % WORD).astype(np.uint64))
    all_of_them = np.bitwise_or.reduce(told, axis=0)
    degree = np.diff(np.append(heard.starts, len(heard.rows)))
    rounds = 0
    waiting = np.flatnonzero((told != all_of_them).any(axis=1))
    while len(waiting):
        before = told.copy()
        hearing = waiting[np.argsort(-degree[waiting], kind="stable")]
        for place in range(degree[hearing[0]]):
            hearing = hearing[: np.searchsorted(-degree[hearing], -place)]  # those with so many neighbours
            if place % 8 == 7:  # on a dense graph a few neighbours know everything
                hearing = hearing[(told[hearing] != all_of_them).any(axis=1)]
            if not len(hearing):
                break
            told[hearing] |= before[heard.columns[heard.starts[hearing] + place]]
        waiting = waiting[(told[waiting] != all_of_them).any(axis=1)]
        rounds += 1
    return rounds
