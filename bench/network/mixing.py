"""Networks: the certified mixing matrices W(0), W(1), …, their costs, and the check that they suit a method."""

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
from bench.network.sparse import Arcs, Messages, Pattern, Sparse
from bench.network.spectrum import accelerated_norm, off_average
from bench.network.weights import weighed

Operator = Literal["mix", "push", "pull"]
LISTED = 10_000
"""The largest number of edges that a manifest lists."""
MANY = 1000
"""Rounds of accelerated gossip up to which an error message searches for a number that contracts."""


class Demands(Protocol):
    """The properties of a method that restrict its networks; see ``bench.method.properties``."""

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
    """A network: the matrices of every round r of every step t. This one repeats a sequence of matrices.

    Attributes:
        changing: Whether the matrices never repeat, because they are random.
        drawn: Whether a new graph is drawn in each round.
        one_way: Whether messages are lost without notice.
        anybody: Whether any pair of nodes may communicate in some round; ``heard`` then has n² entries.
        period: The number of rounds after which the matrices repeat; None: never.
        turns: The number of rounds after which the costs repeat, if ``bills_alike``.
        bills_alike: Whether the costs do not depend on random draws.
    """

    changing = drawn = one_way = anybody = False
    bills_alike = True
    period: int | None
    turns: int
    certificate: Certificate

    def __init__(
        self,
        rounds: Sequence[Matrices] | np.ndarray,
        name: str,
        allow_biased: bool = False,
        kind: NetworkKind = "gossip",
    ) -> None:
        """``rounds`` may be dense matrices, (period, n, n)."""
        if isinstance(rounds, np.ndarray):
            rounds = [matrices_of(Sparse.of_dense(checked_entries(w, name)), name, allow_biased) for w in rounds]
        self.kind, self.name = kind, name
        self._rounds = list(rounds)
        self.period = self.turns = len(self._rounds)
        self.nodes = rounds[0].any.pattern.nodes
        self.certificate = certify(self._rounds, name, alone=kind == "alone")

    def at(self, r: int, t: int = 0) -> Matrices:
        """Return the matrices of round r, which belongs to step t."""
        return self._rounds[r % len(self._rounds)]

    def messages(self, r: int, t: int = 0) -> Messages:
        """Return the messages of round r, which belongs to step t."""
        return Messages.of(self.at(r, t).any)

    @cached_property
    def matrices(self) -> np.ndarray:
        """One dense matrix per round, (period, n, n)."""
        return np.stack([matrices.any.dense() for matrices in self._rounds])

    @cached_property
    def heard(self) -> Pattern:
        """The union of the patterns of all rounds."""
        patterns, n = [matrices.any.pattern for matrices in self._rounds], self.nodes
        if len(patterns) == 1:
            return patterns[0]
        codes = np.unique(np.concatenate([pattern.rows * n + pattern.columns for pattern in patterns]))
        return Pattern(n, *np.divmod(codes, n))

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges of all rounds; undirected ones once, directed ones from source to target."""
        pattern = self.heard
        i, j = pattern.columns[pattern.off], pattern.rows[pattern.off]
        keep = np.ones(len(i), dtype=bool) if self.certificate.directed else i < j
        return sorted(zip(i[keep].tolist(), j[keep].tolist(), strict=True))

    @property
    def directed(self) -> bool:
        return self.certificate.directed

    def bill(self, r: int, t: int = 0) -> tuple[int, int]:
        """Return the messages of round r in the whole network, and how many vectors they carry in total.

        In a ring all-reduce, every node sends 2(n−1) messages of 1/n of a vector each.
        """
        if self.kind == "all_reduce":
            return 2 * self.nodes * (self.nodes - 1), 2 * (self.nodes - 1)
        return (self._messages[r % len(self._rounds)],) * 2

    @cached_property
    def _messages(self) -> list[int]:
        """The messages of each round of the period."""
        return [matrices.any.heard() for matrices in self._rounds]

    def must_serve(self, method: Demands) -> None:
        """Raise ``UserError`` if the network lacks a property that the method needs."""
        c = self.certificate
        if method.static and not c.static:
            raise UserError(
                f"{method.name} needs the same matrix in every round, but '{self.name}' changes. Use a static topology "
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
                f"{method} is a centralized reference. It needs the exact average after one round, which "
                f"'{self.name}' does not compute. Use topology=all_reduce or topology=complete."
            )

    def _must_accelerate(self, rounds: int, method: str) -> None:
        rho = self.certificate.rho
        kept = self.accelerated(rounds)
        if kept is None or rho is None:
            raise UserError(
                f"{method} uses accelerated gossip, which needs the eigenvalues of one symmetric W. Those of "
                f"'{self.name}' are not known. Use an undirected, static topology and links=reliable."
            )
        if kept >= rho > TOLERANCE:
            enough = next((more for more in range(rounds + 1, MANY) if (self.accelerated(more) or 0) < rho), None)
            remedy = f"Use algo.rounds={enough} or a denser topology." if enough else "Use a denser topology."
            raise UserError(
                f"{rounds} round{'s' * (rounds > 1)} of accelerated gossip on '{self.name}' may multiply the consensus "
                f"error by {kept:.3g}; a plain round multiplies it by ρ = {rho:.3g}. {remedy}"
            )

    def accelerated(self, rounds: int) -> float | None:
        """Return ‖FG_R − 11ᵀ/n‖₂ of so many rounds of accelerated gossip; None if W changes or is not symmetric."""
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
        worst, total = worst_sum(matrices.any, axis)
        remedy = (
            "Use a method for directed graphs (algo=sgp), or an undirected graph with topology.weights=metropolis"
            if self.certificate.directed
            else "Use topology=edges with topology.weights=metropolis, or study the bias: topology.allow_biased=true"
        )
        if operator != "mix":
            remedy = "Use topology=edges, for which hearsay computes in- and out-weights"
        kind = {"mix": "doubly stochastic", "push": "column-stochastic", "pull": "row-stochastic"}[operator]
        raise UserError(
            f"The mixing matrix of '{self.name}' is not {kind}: {word} {worst} sums to {total:.9g}, "
            f"but must sum to 1. {method} needs a {kind} matrix; otherwise its result is biased. {remedy}."
        )

    def _must_lie_above(self, lambda_min: float, method: str) -> None:
        c = self.certificate
        if not c.symmetric:
            raise UserError(f"{method} needs a symmetric matrix; that of '{self.name}' is not symmetric.")
        if c.lambda_n is None:
            raise UserError(
                f"{method} requires that the smallest eigenvalue of every W is greater than {lambda_min:.4g}. "
                f"'{self.name}' is drawn anew each round, so this eigenvalue is not known. "
                "Add topology.lazy=true to use (I + W)/2."
            )
        if c.lambda_n <= lambda_min + TOLERANCE:
            raise UserError(
                f"{method} requires that the smallest eigenvalue of W is greater than {lambda_min:.4g}. For "
                f"'{self.name}' with {self.nodes} nodes it is {c.lambda_n:.4g}. "
                "Add topology.lazy=true to use (I + W)/2."
            )

    def describe(self) -> dict[str, Any]:
        """Return the certificate for the manifest, with the edges if there are at most ``LISTED``."""
        listed = {"edge_list": self.edges} if self.certificate.edges <= LISTED else {}
        return {**asdict(self.certificate), "drawn": self.drawn, **listed}


def build_mixing(
    name: str, nodes: int, weights: str | None = None, lazy: bool = False, allow_biased: bool = False, **options: Any
) -> Mixing:
    """Return the network of a registered topology; with ``allow_biased``, its columns need not sum to one."""
    topology = topologies[name]
    rounds = []
    for item in graphs_of(name, nodes, options):
        if isinstance(item, nx.Graph):
            matrices = weighed(Arcs.of_graph(item, name), weights or topology.weights)
        else:
            matrices = matrices_of(Sparse.of_dense(checked_entries(item, name)), name, allow_biased)
        rounds.append(matrices.lazy() if lazy else matrices)
    return Mixing(rounds, name, kind=topology.kind)
