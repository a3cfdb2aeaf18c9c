"""Costs of a run as the clock needs them: its graph, and gradients, rounds and message sizes by evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from bench.base.errors import UserError
from bench.network.graphs import NetworkKind
from bench.network.sparse import Messages


class Graph(Protocol):
    """The messages of every round. ``bench.network.mixing.Mixing`` is one, also directed, drawn or lossy."""

    nodes: int
    kind: NetworkKind
    period: int | None

    def messages(self, r: int, t: int = 0) -> Messages:
        """Return the messages of round r, which belongs to step t."""


def places(steps: np.ndarray, rounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number and the step of every round with communication, two (R,), from the counts at evaluations.

    Between two evaluations, rounds are spread evenly over the steps. A step without communication, by a coin, passes
    over its round.
    """
    starts = np.append(-1 if steps[0] == 0 else 0, steps[:-1])  # the start of a run is step −1
    number, step, r = [], [], 0
    for first, n, m in zip(
        starts.tolist(), (steps - starts).tolist(), np.diff(rounds, prepend=0).tolist(), strict=True
    ):
        k = -(-(np.arange(m) + 1) * n // max(m, 1)) - 1
        silent = first >= 0 and m < n
        number.append(r + (k if silent else np.arange(m)))
        step.append(first + k)
        r += n if silent else m
    return np.concatenate(number).astype(np.int64), np.concatenate(step).astype(np.int64)


MOST_MESSAGES = 20_000_000_000
"""The messages of a run whose rounds are computed one by one; they take about five minutes."""
OVERHEAD = 10_000
"""A round takes at least the time of so many messages."""


def check_size(graph: Graph, rounds: int) -> None:
    """Reject so many rounds if computing them one by one takes too long: the counts of a run may be invalid."""
    most = MOST_MESSAGES // (len(graph.messages(0).source) + OVERHEAD) if graph.kind == "gossip" else MOST_MESSAGES
    if rounds > most:
        raise UserError(
            f"The run has {rounds} rounds or steps that differ; times on a network have a limit of {most} of them on "
            f"a graph like this, with {graph.nodes} nodes."
        )


class StaticGraph:
    """A graph that is the same in every round, from a list of its edges."""

    period: int | None = 1

    def __init__(
        self, nodes: int, edges: Sequence[tuple[int, int]], directed: bool = False, kind: NetworkKind = "gossip"
    ) -> None:
        """An edge (i, j) carries messages both ways; with ``directed``, from i to j only."""
        self.nodes, self.kind = nodes, kind
        ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
        both = ends if directed else np.concatenate([ends, ends[:, ::-1]])
        own = np.arange(nodes).repeat(2).reshape(-1, 2)
        codes = np.unique(np.concatenate([both, own])[:, ::-1] @ np.array([nodes, 1]))
        target, source = np.divmod(codes, nodes)
        self._messages = Messages(source, target)

    def messages(self, r: int, t: int = 0) -> Messages:
        """Return the messages, which are the same in every round."""
        return self._messages


@dataclass(frozen=True, eq=False)
class RunCosts:
    """The costs of a run. Arrays have one entry per evaluation, counted from the start of the run.

    Between two evaluations, gradients, rounds and sizes are spread evenly over the steps.

    Attributes:
        graph: The graph, with its kind: gossip, all_reduce or alone.
        steps: Steps, (E,), increasing.
        rounds: Rounds of communication.
        gradients: Mini-batch gradients per node.
        bits: The sizes of one message of every round, added up, in bits. For an all-reduce, of the whole vector.
        shares: The relative sizes of the rounds of one step, such as (2, 1); (1,): all are equal.
        seed: The seed of the run, the key of random compute times and losses.
        gradient_s: The measured seconds per mini-batch gradient of a node; None: not measured.
    """

    graph: Graph
    steps: np.ndarray
    rounds: np.ndarray
    gradients: np.ndarray
    bits: np.ndarray
    shares: tuple[float, ...] = (1.0,)
    seed: int = 0
    gradient_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("steps", "rounds", "gradients", "bits"):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if values.shape != np.shape(self.steps) or values.ndim != 1 or not len(values):
                raise UserError(f"The costs of a run need one value of '{name}' per evaluation, got {values.shape}.")
            if not np.isfinite(values).all() or values[0] < 0 or (np.diff(values) < 0).any():
                raise UserError(f"The run's counts of '{name}' must be finite and never decrease; they are invalid.")
        if (np.diff(self.steps) == 0).any():
            raise UserError("The run has several evaluations of one step; each must be of a later step.")
        if not self.shares or min(self.shares) <= 0:
            raise UserError(f"The shares of the rounds of a step must be positive, got {self.shares}.")

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.graph.nodes

    @cached_property
    def key(self) -> bytes:
        """The arrays as bytes, for caches."""
        arrays = (self.steps, self.rounds, self.gradients, self.bits)
        return b"".join(np.asarray(each, dtype=np.float64).tobytes() for each in arrays)


def costs_of_method(
    graph: Graph,
    steps: Sequence[int] | np.ndarray,
    parameters: int,
    rounds: float = 1,
    vectors: float | Sequence[float] = 1,
    scalars: float = 0,
    gradients: float = 1,
    bits_per_number: float = 32,
    seed: int = 0,
) -> RunCosts:
    """Return the costs of a method by its declaration, per step.

    Args:
        graph: The graph.
        steps: The evaluated steps.
        parameters: P, the numbers of a vector.
        rounds: Rounds per step; below 1, a round in some steps only.
        vectors: Vectors per step in all rounds together, or a list with those of each round.
        scalars: Single numbers per step beside the vectors.
        gradients: Mini-batch gradients per node and step.
        bits_per_number: 32 in single and 64 in double precision; the mean bits of a number if compressed.
        seed: The key of random draws.
    """
    by_round = [float(vectors)] if isinstance(vectors, int | float) else [float(each) for each in vectors]
    if len(by_round) > 1:
        rounds = len(by_round)
    at = np.asarray(steps, dtype=np.int64)
    size = (sum(by_round) * parameters + scalars) * bits_per_number
    shares = tuple(each * parameters + scalars / len(by_round) for each in by_round)
    return RunCosts(
        graph=graph,
        steps=at,
        rounds=np.floor(at * rounds + 1e-9).astype(np.int64),
        gradients=at * float(gradients),
        bits=at * size,
        shares=shares if len(by_round) > 1 else (1.0,),
        seed=seed,
    )
