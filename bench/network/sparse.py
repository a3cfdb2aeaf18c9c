"""Graphs and mixing matrices in sparse form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import networkx as nx
import numpy as np

from bench.base.errors import UserError

if TYPE_CHECKING:
    import scipy.sparse as sp


class Arcs:
    """The arcs source → target of a graph, without self-loops. An undirected edge is two arcs.

    Attributes:
        nodes: The number of nodes, n.
        directed: Whether the graph is directed.
        source: The sender of each of m arcs, (m,).
        target: The receiver of each arc, (m,).
    """

    def __init__(self, nodes: int, source: np.ndarray, target: np.ndarray, directed: bool = False) -> None:
        if not directed:
            source, target = np.concatenate([source, target]), np.concatenate([target, source])
        self.nodes, self.directed = nodes, directed
        self.source, self.target = source, target

    @classmethod
    def of_graph(cls, graph: nx.Graph, name: str) -> Arcs:
        """Return the arcs of a graph on 0 … n−1, without self-loops (the networkx cycle of one node has one)."""
        n = len(graph)
        if graph.is_multigraph():  # its edges have a third entry, their key
            simple = "nx.DiGraph" if graph.is_directed() else "nx.Graph"
            raise UserError(
                f"The graph '{name}' is a {type(graph).__name__}. It must have at most one edge between two nodes. "
                f"Return {simple}(graph)."
            )
        if set(graph) != set(range(n)):
            raise UserError(f"The graph '{name}' must have the nodes 0 … {n - 1}; it has {sorted(graph, key=str)}.")
        if any(weight != 1 for _, _, weight in graph.edges(data="weight", default=1)):
            raise UserError(
                f"The edges of the graph '{name}' have weights, but topology.weights computes W without them. Remove "
                "the attribute 'weight', or return W as an array."
            )
        edges = [edge for edge in graph.edges if edge[0] != edge[1]]
        ends = np.array(edges, dtype=np.int64).reshape(len(edges), 2)
        return cls(n, ends[:, 0], ends[:, 1], graph.is_directed())

    @cached_property
    def out_degree(self) -> np.ndarray:
        """The number of out-neighbors of each node, (n,)."""
        return np.bincount(self.source, minlength=self.nodes)

    @cached_property
    def in_degree(self) -> np.ndarray:
        """The number of in-neighbors of each node, (n,); on an undirected graph both are the degree."""
        return np.bincount(self.target, minlength=self.nodes)


@dataclass(frozen=True, eq=False)
class Pattern:
    """The positions of the entries of a matrix, in row-major order. They always include the diagonal."""

    nodes: int
    rows: np.ndarray
    columns: np.ndarray

    @cached_property
    def starts(self) -> np.ndarray:
        """The index of the first entry of each row, (n,)."""
        return np.searchsorted(self.rows, np.arange(self.nodes))

    @cached_property
    def off(self) -> np.ndarray:
        """The indices of the off-diagonal entries."""
        return np.flatnonzero(self.rows != self.columns)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The indices of the diagonal entries."""
        return np.flatnonzero(self.rows == self.columns)


class Sparse(NamedTuple):
    """A matrix: a pattern and the value of each of its entries. Row i holds the weights with which node i receives."""

    pattern: Pattern
    values: np.ndarray

    @classmethod
    def of_arcs(cls, arcs: Arcs, weights: np.ndarray, diagonal: np.ndarray) -> Sparse:
        """Return the matrix with these weights of the arcs, (m,), and this diagonal, (n,)."""
        n, every = arcs.nodes, np.arange(arcs.nodes)
        rows, columns = np.concatenate([arcs.target, every]), np.concatenate([arcs.source, every])
        order = (rows * n + columns).argsort()
        return cls(Pattern(n, rows[order], columns[order]), np.concatenate([weights, diagonal])[order])

    @classmethod
    def of_dense(cls, matrix: np.ndarray) -> Sparse:
        rows, columns = np.nonzero((matrix != 0) | np.eye(len(matrix), dtype=bool))
        return cls(Pattern(len(matrix), rows, columns), np.ascontiguousarray(matrix[rows, columns], dtype=np.float64))

    @classmethod
    def of_scipy(cls, matrix: sp.csr_array) -> Sparse:
        """Return a SciPy matrix that stores its whole diagonal as ``Sparse``."""
        matrix.sort_indices()
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        return cls(Pattern(matrix.shape[0], rows, matrix.indices.astype(np.int64)), matrix.data)

    def dense(self) -> np.ndarray:
        out = np.zeros((self.pattern.nodes, self.pattern.nodes), self.values.dtype)
        out[self.pattern.rows, self.pattern.columns] = self.values
        return out

    def scipy(self) -> sp.csr_array:
        import scipy.sparse as sp  # slow to import, and small networks do not need it

        n = self.pattern.nodes
        ends = np.append(self.pattern.starts, len(self.values))
        return sp.csr_array((self.values, self.pattern.columns, ends), shape=(n, n))

    def sums(self, axis: int) -> np.ndarray:
        """Return the sum of each row (axis 1) or column (axis 0), (n,)."""
        where = self.pattern.rows if axis == 1 else self.pattern.columns
        return np.bincount(where, weights=self.values, minlength=self.pattern.nodes)

    def mirrored(self) -> np.ndarray:
        """Return the value of entry (j, i) for each entry (i, j); 0 if the pattern lacks it."""
        n, rows, columns = self.pattern.nodes, self.pattern.rows, self.pattern.columns
        codes, swapped = rows * n + columns, columns * n + rows
        at = np.searchsorted(codes, swapped).clip(max=len(codes) - 1)
        return np.where(codes[at] == swapped, self.values[at], 0)

    def heard(self) -> int:
        """Return the number of nonzero off-diagonal entries, which is the number of messages in a round."""
        return int(np.count_nonzero(self.values[self.pattern.off]))

    def lazy(self) -> Sparse:
        """Return (I + W)/2, which has no negative eigenvalue if W is symmetric."""
        values = self.values / 2
        values[self.pattern.diagonal] = (1 + self.values[self.pattern.diagonal]) / 2
        return Sparse(self.pattern, values)


class Messages(NamedTuple):
    """The messages of a round, sorted by receiver. Every node also sends one to itself, which takes no time."""

    source: np.ndarray
    target: np.ndarray
    lost: np.ndarray | None = None  # whether each message is lost; None: no loss

    @classmethod
    def of(cls, w: Sparse) -> Messages:
        """Return the messages of a round with the matrix w: its nonzero entries and its diagonal."""
        rows, columns = w.pattern.rows, w.pattern.columns
        keep = (w.values != 0) | (rows == columns)
        return cls(columns[keep], rows[keep])
