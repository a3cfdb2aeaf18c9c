"""The graph of a tape: arcs with the times of their messages, and the checks that patterns need."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bench.base.errors import UserError
from bench.base.keyed import generator

BLOCK = 1024
"""Events of an arc, an edge or a node whose random draws are made together. It is part of the random key."""


@dataclass(frozen=True, eq=False)
class TimedArcs:
    """Arcs source → target without self-loops, sorted by target and source, with nanoseconds of a message.

    Attributes:
        nodes: The number of nodes.
        source: The sender of each arc, (m,).
        target: The receiver of each arc, (m,).
        delay: The time of a message on an idle arc, (m,), at least 1, so that no message arrives when it is sent.
        transfer: The part of the delay in which the message occupies the arc, (m,).
    """

    nodes: int
    source: np.ndarray
    target: np.ndarray
    delay: np.ndarray
    transfer: np.ndarray

    @classmethod
    def of(
        cls,
        nodes: int,
        source: np.ndarray,
        target: np.ndarray,
        delays: np.ndarray,
        transfer: np.ndarray | None,
        end: int,
    ) -> TimedArcs:
        """Return the arcs in their order; times beyond the end of the tape are ``end + 1``."""
        columns = [np.asarray(each, dtype=np.int64) for each in (source, target, delays)]
        columns.append(np.zeros_like(columns[0]) if transfer is None else np.asarray(transfer, dtype=np.int64))
        if len({each.shape for each in columns}) > 1 or columns[0].ndim != 1:
            raise ValueError(f"Arcs need columns of equal length, got {[each.shape for each in columns]}.")
        codes = columns[0] * nodes + columns[1]
        if (columns[0] == columns[1]).any() or len(np.unique(codes)) < len(codes):
            raise ValueError("Every arc must be listed once, and none may lead from a node to itself.")
        order = np.lexsort(columns[:2])
        first, second, delay, occupied = (each[order] for each in columns)
        return cls(nodes, first, second, delay.clip(1, end + 1), occupied.clip(0, end + 1))

    @cached_property
    def edges(self) -> dict[tuple[int, int], int]:
        """The edges (i, j), i < j, with the time of an exchange, which is the larger one of both delays.

        Raises:
            UserError: The graph is directed.
        """
        pairs = zip(self.source.tolist(), self.target.tolist(), strict=True)
        delays = dict(zip(pairs, self.delay.tolist(), strict=True))
        for i, j in delays:
            if (j, i) not in delays:
                raise UserError(
                    f"The method averages pairs of nodes and needs an undirected graph, but node {i} sends to node {j} "
                    "and does not receive from it. Use an undirected topology such as ring."
                )
        return {(i, j): max(delay, delays[j, i]) for (i, j), delay in sorted(delays.items()) if i < j}

    @cached_property
    def neighbors(self) -> list[list[int]]:
        """The neighbors of each node of an undirected graph, in increasing order."""
        out: list[list[int]] = [[] for _ in range(self.nodes)]
        for i, j in self.edges:
            out[i].append(j)
            out[j].append(i)
        return [sorted(each) for each in out]

    def active(self) -> list[bool]:
        """Return the side of node 0 in a bipartite graph; in other components, of their first node with neighbors.

        Raises:
            UserError: The graph has a cycle of odd length.
        """
        depth, parent = [-1] * self.nodes, [-1] * self.nodes
        for root in range(self.nodes):
            if depth[root] >= 0:
                continue
            depth[root] = 0
            queue = deque([root])
            while queue:
                i = queue.popleft()
                for j in self.neighbors[i]:
                    if depth[j] < 0:
                        depth[j], parent[j] = depth[i] + 1, i
                        queue.append(j)
                    elif depth[j] % 2 == depth[i] % 2:
                        raise UserError(
                            "The method averages pairs of nodes and needs a bipartite graph, but this graph has a "
                            f"cycle of {_cycle(i, j, parent)} nodes, an odd number, through the neighbors {min(i, j)} "
                            f"and {max(i, j)}. Use a bipartite graph: a ring with an even number of nodes, a path, a "
                            "star, a grid or a hypercube."
                        )
        return [level % 2 == 0 and bool(near) for level, near in zip(depth, self.neighbors, strict=True)]


def _cycle(i: int, j: int, parent: list[int]) -> int:
    """Return the number of nodes of the cycle of edge (i, j) and the tree paths of i and j, which have equal depth."""
    nodes = 1
    while i != j:
        i, j, nodes = parent[i], parent[j], nodes + 2
    return nodes


def uniform(seed: int, node: int, purpose: str, count: int) -> np.ndarray:
    """Return the first ``count`` random numbers on [0, 1) of a key, (count,); number k has the key and k."""
    blocks = [generator(seed, node, purpose, block).random(BLOCK) for block in range(-(-count // BLOCK))]
    return np.concatenate(blocks)[:count] if blocks else np.zeros(0)
