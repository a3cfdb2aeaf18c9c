"""W(0), W(1), …: the matrices of a network, certified."""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from bench.base.errors import UserError
from bench.base.memory import require
from bench.base.registry import topologies
from bench.network.certificate import COPIES, TOLERANCE, _certify, _check_factor, _weighed
from bench.network.graphs import NetworkKind, graphs_of
from bench.network.weights import lazy as make_lazy


class Mixing:
    """A certified matrix W, or a periodic sequence W(0), W(1), … of them."""

    def __init__(
        self, matrices: np.ndarray, name: str, allow_biased: bool = False, kind: NetworkKind = "gossip"
    ) -> None:
        """``matrices`` has shape (period, n, n)."""
        self.kind = kind
        for matrix in matrices:
            _check_factor(matrix, name, allow_biased)
        self.matrices = np.ascontiguousarray(matrices, dtype=np.float64)
        self.name = name
        self.certificate = _certify(self.matrices, name, alone=kind == "alone")

    @property
    def nodes(self) -> int:
        return self.matrices.shape[1]

    @property
    def period(self) -> int:
        return self.matrices.shape[0]

    @cached_property
    def edges(self) -> list[tuple[int, int]]:
        """Undirected edges of all rounds together, each once."""
        return [(int(i), int(j)) for i, j in np.argwhere(np.triu(self.matrices.any(axis=0), 1))]

    def bill(self, r: int) -> tuple[int, int]:
        """Messages of round r in the whole network, and how often the numbers of one node travel in them.

        All-reduce sends every vector in n pieces, 2(n−1) of them from every node, whatever the graph.
        """
        if self.kind == "all_reduce":
            return 2 * self.nodes * (self.nodes - 1), 2 * (self.nodes - 1)
        return (self._messages[r % self.period],) * 2

    @cached_property
    def _messages(self) -> list[int]:
        """Directed edges of each round of the period."""
        return [int(np.count_nonzero(w) - np.count_nonzero(w.diagonal())) for w in self.matrices]

    def must_serve(self, method: str, lambda_min: float | None) -> None:
        """A UserError where a method that wants W static, with eigenvalues above so much, does not converge."""
        if lambda_min is None:
            return
        lambda_n = self.certificate.lambda_n
        if self.certificate.biased:
            raise UserError(f"{method} needs a symmetric matrix; '{self.name}' is not.")
        if lambda_n is None:
            raise UserError(
                f"{method} needs one matrix with smallest eigenvalue above {lambda_min:.4g}; '{self.name}' changes "
                "every round, and nothing is known of it then. Use a static topology."
            )
        if lambda_n <= lambda_min + TOLERANCE:
            raise UserError(
                f"{method} needs the smallest eigenvalue of W above {lambda_min:.4g}; '{self.name}' with {self.nodes} "
                f"nodes has {lambda_n:.4g}. Use topology.lazy=true, which takes (I + W)/2."
            )

    def describe(self) -> dict[str, Any]:
        """For the manifest: the certificate and the edges."""
        return {**asdict(self.certificate), "edge_list": self.edges}


def build_mixing(
    name: str, nodes: int, weights: str | None = None, lazy: bool = False, allow_biased: bool = False, **options: Any
) -> Mixing:
    """The certified matrix of a registered topology; with ``allow_biased``, one whose columns need not sum to one."""
    topology = topologies[name]
    require(COPIES * 8 * nodes**2, f"A mixing matrix of {nodes} × {nodes} numbers", "use fewer nodes")
    made = graphs_of(name, nodes, options)
    matrices = []
    for item in made:
        matrix = item if isinstance(item, np.ndarray) else _weighed(item, name, weights or topology.weights)
        _check_factor(matrix, name, allow_biased)
        matrices.append(make_lazy(matrix) if lazy else matrix)
    return Mixing(np.stack(matrices), name, allow_biased, topology.kind)
