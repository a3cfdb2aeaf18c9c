"""Random failures of links and nodes. They depend on the seed and the step only, so that all methods see the same."""

from __future__ import annotations

import numpy as np

from bench.base.randomness import EVERYONE, generator

BLOCK = 16
"""Steps whose losses are drawn together: part of the key, so changing it changes every lossy run."""


class Coins:
    """Independent losses: in step t each of several messages is lost with probability p."""

    def __init__(self, p: float, seed: int) -> None:
        self._p, self._seed = p, seed
        self._block: tuple[int, int, np.ndarray] | None = None

    def lost(self, t: int, things: int) -> np.ndarray:
        """Return which of so many messages are lost in step t, a boolean array (things,)."""
        number, place = divmod(t, BLOCK)
        block = self._block  # once: another thread may ask for another step meanwhile
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
        while len(blocks) <= number:  # a chain: every block begins where the one before it ended
            draws = generator(self._seed, EVERYONE, "outages", len(blocks)).random((BLOCK + 1, self._nodes))
            down = blocks[-1][-1] if blocks else draws[-1] >= self.up
            block = np.empty((BLOCK, self._nodes), dtype=bool)
            for step in range(BLOCK):
                if step or blocks:
                    down = np.where(down, draws[step] >= self.back, draws[step] < self.p)
                block[step] = down
            self._blocks = blocks = [*blocks, block]  # a new list: another thread may be making the same
        return blocks[number][place]
