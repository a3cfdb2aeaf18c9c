"""W(0), W(1), …: the matrices of a network, certified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, Literal, Protocol

import networkx as nx
import numpy as np

from bench.base.errors import UserError
from bench.base.registry import topologies
from bench.network.certificate import (
    TOLERANCE,
    Certificate,
    Matrices,
    certify,
    checked_entries,
    matrices_of,
    sums_to_one,
    worst_sum,
)
from bench.network.graphs import NetworkKind, graphs_of
from bench.network.rounds import lazily, union, weighed
from bench.network.sparse import Arcs, Pattern, Sparse
from bench.network.spectrum import accelerated_norm, off_average

Operator = Literal["mix", "push", "pull"]
LISTED = 10_000
"""Edges that a manifest lists at most; of more it says how many there are, and who tells them."""
MANY = 1000
"""Rounds of accelerated gossip that are tried before a remedy is given up."""


class Demands(Protocol):
    """What a method asks of a network; its declaration has it."""

    @property
    def name(self) -> str: ...

    @property
    def mixes(self) -> str: ...

    @property
    def static(self) -> bool: ...

    @property
    def lambda_min(self) -> float | None: ...

    @property
    def exact_average(self) -> bool: ...

    @property
    def accelerates(self) -> int: ...


class Mixing:
    """A network: matrices for every round r of every step t. This one has a matrix, or several that take turns."""

    changing = False
    """Whether it never repeats: drawn anew, or losing what is sent."""
    bills_alike = True
    """Whether the rounds of a period cost what they cost, whatever is drawn."""
    anybody = False
    """Whether anybody may hear anybody some day: ``heard`` then has n² places."""
    one_way = False
    """Whether messages are lost without their sender knowing."""
    drawn = False
    """Whether its edges are those of one round, and others in the next."""
    certificate: Certificate

    def __init__(
        self,
        rounds: Sequence[Matrices] | np.ndarray,
        name: str,
        allow_biased: bool = False,
        kind: NetworkKind = "gossip",
    ) -> None:
        """``rounds`` may be plain matrices, (period, n, n)."""
        if isinstance(rounds, np.ndarray):
            rounds = [matrices_of(Sparse.of_dense(checked_entries(w, name)), name, allow_biased) for w in rounds]
        self.kind, self.name = kind, name
        self._rounds = list(rounds)
        self.nodes = rounds[0].any.pattern.nodes
        self.certificate = certify(self._rounds, name, alone=kind == "alone")

    @property
    def period(self) -> int | None:
        """Rounds after which it repeats; None: never."""
        return len(self._rounds)

    @property
    def turns(self) -> int:
        """Rounds after which bills repeat, where they are alike."""
        return len(self._rounds)

    def at(self, r: int, t: int = 0) -> Matrices:
        """Those of round r, which is in step t."""
        return self._rounds[r % len(self._rounds)]

    @cached_property
    def matrices(self) -> np.ndarray:
        """(period, n, n): what is mixed by, or pushed or pulled by, dense; to be looked at."""
        return np.stack([matrices.any.dense() for matrices in self._rounds])

    @cached_property
    def heard(self) -> Pattern:
        """Who may ever hear whom."""
        return union([matrices.any.pattern for matrices in self._rounds])

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Of all rounds together; undirected ones once, directed ones from source to target."""
        pattern = self.heard
        i, j = pattern.columns[pattern.off], pattern.rows[pattern.off]
        keep = np.ones(len(i), dtype=bool) if self.certificate.directed else i < j
        return sorted(zip(i[keep].tolist(), j[keep].tolist(), strict=True))

    @property
    def directed(self) -> bool:
        return self.certificate.directed

    def bill(self, r: int, t: int = 0) -> tuple[int, int]:
        """Messages of round r in the whole network, and how often the numbers of one node travel in them.

        All-reduce sends every vector in n pieces, 2(n−1) of them from every node, whatever the graph.
        """
        if self.kind == "all_reduce":
            return 2 * self.nodes * (self.nodes - 1), 2 * (self.nodes - 1)
        return (self._messages[r % len(self._rounds)],) * 2

    @cached_property
    def _messages(self) -> list[int]:
        """Arcs of each round of the period."""
        return [matrices.any.heard() for matrices in self._rounds]

    def must_serve(self, method: Demands) -> None:
        """A UserError where the network is not what the method asks for."""
        c = self.certificate
        if method.static and not c.static:
            raise UserError(
                f"{method.name} needs the same matrix in every round, and '{self.name}' changes. Use a static topology "
                "and links=reliable."
            )
        for operator in ("push", "pull") if method.mixes == "push and pull" else (method.mixes,):
            self._must_have("mix" if operator == "doubly" else operator, method.name)
        if method.lambda_min is not None:
            self._must_lie_above(method.lambda_min, method.name)
        if method.exact_average:
            self._must_average(method.name)
        if method.accelerates:
            self._must_accelerate(method.accelerates, method.name)

    def _must_average(self, method: str) -> None:
        if self.certificate.rho is None or self.certificate.rho > TOLERANCE:
            raise UserError(
                f"{method} is a reference that knows the exact average of all nodes, and one round of '{self.name}' "
                "does not give it. Use topology=all_reduce or topology=complete."
            )

    def _must_accelerate(self, rounds: int, method: str) -> None:
        rho = self.certificate.rho
        kept = self.accelerated(rounds)
        if kept is None or rho is None:
            raise UserError(
                f"{method} gossips with momentum, for which it must know the eigenvalues of one symmetric W; nothing "
                f"is known of those of '{self.name}'. Use an undirected, static topology and links=reliable."
            )
        if kept >= rho > TOLERANCE:
            enough = next((more for more in range(rounds + 1, MANY) if (self.accelerated(more) or 0) < rho), None)
            remedy = f"Use algo.rounds={enough} or a denser topology." if enough else "Use a denser topology."
            raise UserError(
                f"{rounds} round{'s' * (rounds > 1)} of accelerated gossip on '{self.name}' may keep {kept:.3g} of a "
                f"disagreement, where a plain round keeps ρ = {rho:.3g}. {remedy}"
            )

    def accelerated(self, rounds: int) -> float | None:
        """‖FG_R − 11ᵀ/n‖₂ of so many rounds of accelerated gossip; None where W changes or is not symmetric."""
        c = self.certificate
        if c.rho is None or c.lambda_2 is None:
            return None
        return accelerated_norm(self._off_average, c.rho, rounds)

    @cached_property
    def _off_average(self) -> np.ndarray:
        return off_average(self.at(0).any)

    def _must_have(self, operator: Operator, method: str) -> None:
        matrices = self.at(0)
        if getattr(matrices, operator) is not None:
            return
        axis, word = (1, "row") if operator == "pull" or sums_to_one(matrices.any, 0) else (0, "column")
        worst, _, total = worst_sum(matrices.any, axis)
        remedy = (
            "Use a method for directed graphs (algo=sgp), or an undirected graph with topology.weights=metropolis"
            if self.certificate.directed
            else "Give the edges instead and let a weight rule (metropolis) choose the weights, or study the bias: "
            "topology.allow_biased=true"
        )
        if operator != "mix":
            remedy = "Give the edges instead: hearsay then builds in- and out-weights"
        kind = {"mix": "doubly stochastic", "push": "column-stochastic", "pull": "row-stochastic"}[operator]
        raise UserError(
            f"The mixing matrix of '{self.name}' is not {kind}: {word} {worst} sums to {total:.9g}, "
            f"but must sum to 1. {method} needs a {kind} matrix; otherwise its result is biased. {remedy}."
        )

    def _must_lie_above(self, lambda_min: float, method: str) -> None:
        c = self.certificate
        if not c.symmetric:
            raise UserError(f"{method} needs a symmetric matrix; '{self.name}' is not.")
        if c.lambda_n is None:
            raise UserError(
                f"{method} requires that the smallest eigenvalue of every W is greater than {lambda_min:.4g}. "
                f"'{self.name}' is drawn anew each round, so it is not known. Add topology.lazy=true to use (I + W)/2."
            )
        if c.lambda_n <= lambda_min + TOLERANCE:
            raise UserError(
                f"{method} requires that the smallest eigenvalue of W is greater than {lambda_min:.4g}. For "
                f"'{self.name}' with {self.nodes} nodes it is {c.lambda_n:.4g}. "
                "Add topology.lazy=true to use (I + W)/2."
            )

    def describe(self) -> dict[str, Any]:
        """For the manifest: the certificate, and the edges where they are not too many to be listed."""
        listed = {"edge_list": self.edges} if self.certificate.edges <= LISTED else {}
        return {**asdict(self.certificate), "drawn": self.drawn, **listed}


def build_mixing(
    name: str, nodes: int, weights: str | None = None, lazy: bool = False, allow_biased: bool = False, **options: Any
) -> Mixing:
    """The network of a registered topology; with ``allow_biased``, one whose columns need not sum to one."""
    topology = topologies[name]
    rounds = []
    for item in graphs_of(name, nodes, options):
        if isinstance(item, nx.Graph):
            matrices = weighed(Arcs.of_graph(item, name), weights or topology.weights)
        else:
            matrices = matrices_of(Sparse.of_dense(checked_entries(item, name)), name, allow_biased)
        rounds.append(lazily(matrices) if lazy else matrices)
    return Mixing(rounds, name, allow_biased, topology.kind)
