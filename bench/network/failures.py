"""Random failures of links and nodes, and mixing matrices without the failed links.

Failures depend on the seed and the step only, so that all methods see the same ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from bench.base.keyed import EVERYONE, generator
from bench.network.sparse import Pattern, Sparse

if TYPE_CHECKING:
    import scipy.sparse as sp

BLOCK = 16
"""Steps whose losses are drawn together. It is part of the random key, so changing it changes every lossy run."""
Semantics = Literal["reabsorb", "renormalise", "zero_fill"]


class Coins:
    """Independent losses: in step t each of several messages is lost with probability p."""

    def __init__(self, p: float, seed: int) -> None:
        self._p, self._seed = p, seed
        self._block: tuple[int, int, np.ndarray] | None = None

    def lost(self, t: int, things: int) -> np.ndarray:
        """Return which of so many messages are lost in step t, a boolean array (things,)."""
        number, place = divmod(t, BLOCK)
        block = self._block  # read once: another thread may replace it
        if block is None or block[:2] != (number, things):
            draws = generator(self._seed, EVERYONE, "loss", number).random((BLOCK, things)) < self._p
            self._block = block = number, things, draws
        return block[2][place]


class NodeOutages:
    """Node outages: each node is up or down by a stationary Markov chain."""

    def __init__(self, p: float, length: float, nodes: int, seed: int) -> None:
        self.p, self.back, self._nodes, self._seed = p, 1 / length, nodes, seed
        self.up = self.back / (p + self.back)  # the fraction of steps in which a node is up
        self._blocks: list[np.ndarray] = []

    def silent(self, t: int) -> np.ndarray:
        """Return which nodes are down in step t, a boolean array (n,)."""
        number, place = divmod(max(t, 0), BLOCK)
        blocks = self._blocks
        while len(blocks) <= number:  # a Markov chain: a block starts in the last state of the block before
            draws = generator(self._seed, EVERYONE, "outages", len(blocks)).random((BLOCK + 1, self._nodes))
            down = blocks[-1][-1] if blocks else draws[-1] >= self.up
            block = np.empty((BLOCK, self._nodes), dtype=bool)
            for step in range(BLOCK):
                if step or blocks:
                    down = np.where(down, draws[step] >= self.back, draws[step] < self.p)
                block[step] = down
            self._blocks = blocks = [*blocks, block]  # a new list: another thread may compute the same block
        return blocks[number][place]


def without(w: Sparse, lost: np.ndarray, semantics: Semantics, side: str) -> Sparse:
    """Return the matrix of a round in which the messages of some off-diagonal entries are lost."""
    pattern, values = w.pattern, w.values.copy()
    gone = pattern.off[lost]
    if semantics == "reabsorb":
        keeper = pattern.columns if side == "push" else pattern.rows
        values[pattern.diagonal] += np.bincount(keeper[gone], weights=values[gone], minlength=pattern.nodes)
    values[gone] = 0
    if semantics == "renormalise":
        arrived = np.bincount(pattern.rows, weights=values, minlength=pattern.nodes)
        values[pattern.diagonal] += arrived == 0  # a node that receives nothing keeps its value
        values /= np.where(arrived == 0, 1, arrived)[pattern.rows]
    return Sparse(pattern, values)


def pair_numbers(pattern: Pattern) -> np.ndarray:
    """Return for every off-diagonal entry (i, j) the number of the pair {i, j} among all pairs of nodes."""
    i, j = pattern.rows[pattern.off], pattern.columns[pattern.off]
    high, low = np.maximum(i, j), np.minimum(i, j)
    return high * (high - 1) // 2 + low


def squared_laplacian(w: sp.csr_array) -> sp.csr_array:
    """Return Σ w_e² L_e over the edges e."""
    import scipy.sparse as sp  # slow to import

    squares = w.multiply(w).tocsr()
    squares = squares - sp.diags_array(squares.diagonal())
    return sp.csr_array(sp.diags_array(np.asarray(squares.sum(axis=1)).ravel()) - squares)
