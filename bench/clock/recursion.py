"""The clock: t_i⁺ = max over messages j → i of (ready_j + latency + size / bandwidth), in int64 nanoseconds.

In every step a node first computes, then communicates in rounds. A node starts a round when it has all messages of the
round before. There is no barrier: a straggler delays its neighbors after one round, and theirs after two.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from itertools import repeat
from typing import NamedTuple

import numpy as np

from bench.base.errors import UserError
from bench.clock.compute import NANO, Compute, whole
from bench.clock.costs import Graph, RunCosts, check_size
from bench.clock.network import Links, Network
from bench.network.sparse import Messages

MOST = np.iinfo(np.int64).max
TOO_LONG = "The run takes more than 292 years on this network. Check the numbers and units in its file."
REMEMBERED = 1024
"""The number of results that are kept: runs that differ in stepsize only have the same times."""


class Seconds(NamedTuple):
    """Seconds since the start of the run, at each of its evaluations, (E,)."""

    slowest: np.ndarray
    """When the last node has completed the step."""
    mean: np.ndarray
    """The mean over the nodes."""


def seconds(costs: RunCosts, network: Network, gradient_s: float | None = None) -> Seconds:
    """Return the seconds of a run on a network, at each of its evaluations.

    Args:
        costs: The costs of the run.
        network: The network.
        gradient_s: Seconds per mini-batch gradient, instead of those of the network.

    Raises:
        UserError: The network has too few sites for the run, no time-out for its losses, or no compute time.
    """
    drawn = network.compute.random or network.loss > 0 or costs.graph.period is None
    static = costs.graph.period == 1
    key: Hashable = None
    if static:  # other graphs have no content that is cheap to compare
        first = costs.graph.messages(0)
        content = first.source.tobytes(), first.target.tobytes(), costs.graph.kind, costs.nodes
        measured = gradient_s, costs.gradient_s if network.compute.gradient_s is None else None
        key = id(network), content, costs.key, costs.shares, measured, costs.seed if drawn else None
        if key in _known:
            return _known[key][1]
    out = np.array([(float(t.max()), float(t.mean())) for t in node_times(costs, network, gradient_s)]) / NANO
    times = Seconds(out[:, 0], out[:, 1])
    if static:
        _known[key] = network, times  # the network stays alive, so that its id is unique
        if len(_known) > REMEMBERED:
            _known.popitem(last=False)
    return times


_known: OrderedDict[Hashable, tuple[Network, Seconds]] = OrderedDict()


def node_times(costs: RunCosts, network: Network, gradient_s: float | None = None) -> Iterator[np.ndarray]:
    """Yield the time of every node in nanoseconds, int64 (n,), at each evaluation of a run."""
    check_size(costs.graph, _computed_singly(costs, network))
    rounds = Rounds(costs.graph, network.links(costs.nodes), costs.seed, network.name)
    base = network.compute.base(costs.nodes, costs.gradient_s, gradient_s)
    now, r = np.zeros(costs.nodes, dtype=np.int64), 0
    # A run that is evaluated at step 0 has its start before it, which is step −1.
    before = (-1 if costs.steps[0] == 0 else 0, 0, 0.0, 0.0)
    for after in zip(costs.steps, costs.rounds, costs.gradients, costs.bits, strict=True):
        first, steps, made = int(before[0]), int(after[0] - before[0]), int(after[1] - before[1])
        sizes = _sizes(float(after[3] - before[3]), made, costs.shares)
        times = _compute_times(network.compute, base, costs.seed, first, steps, float(after[2] - before[2]))
        equal = made % steps == 0 and not (network.compute.random or network.loss)
        seen = Regime(costs.graph.period) if equal else None
        silent = first >= 0 and made < steps  # a step without communication, by a coin, passes over its round
        k = 0
        while k < steps:
            if seen is not None and (repeats := seen.repeats(now, r, k, steps)):
                if int(now.max()) + repeats.time > MOST:
                    raise UserError(TOO_LONG)
                now, r = now + repeats.time, r + repeats.steps * max(made // steps, silent)
                k, seen = k + repeats.steps, None
                continue
            now = now + next(times)
            for place in range((k + 1) * made // steps - k * made // steps):
                now = rounds.after(now, r, first + k, sizes[place % len(sizes)])
                r += not silent
            r += silent
            k += 1
            if now.min() < 0:  # a sum did not fit: no single time is longer than ``LONGEST``
                raise UserError(TOO_LONG)
        before = after
        yield now


def _computed_singly(costs: RunCosts, network: Network) -> int:
    """Return a number of rounds and steps that are computed one by one; ``Regime`` skips most of the others."""
    steps = np.diff(costs.steps, prepend=-1 if costs.steps[0] == 0 else 0)
    made = np.diff(costs.rounds, prepend=0)
    equal = (made % steps == 0) & (not (network.compute.random or network.loss or costs.graph.period is None))
    return int(np.where(equal, made // steps, made + steps).sum())


def _sizes(bits: float, rounds: int, shares: tuple[float, ...]) -> list[float]:
    """Return the size of a message in each round of a step, in bits; ``bits`` are those of all rounds together."""
    mean = bits / max(rounds, 1)
    return [mean * share * len(shares) / sum(shares) for share in shares]


def _compute_times(
    compute: Compute, base: np.ndarray, seed: int, first: int, steps: int, gradients: float
) -> Iterator[np.ndarray]:
    """Yield the compute times of each of so many steps, int64 (n,), in which a node evaluates so many gradients."""
    each = gradients / steps
    if not compute.random:
        yield from repeat(whole(each * (base + compute.other_s * NANO)), steps)
        return
    for factors, extra in compute.draws_by_block(seed, len(base), first + 1, steps):
        yield from whole(each * (base * factors + extra))


class Repeats(NamedTuple):
    """Steps that can be skipped, and the time they take on every node."""

    steps: int
    time: int


class Regime:
    """Detects that equal steps repeat: if the differences between nodes recur, then so do the times between them.

    A step is a map f in (max, +) with f(t + c) = f(t) + c. The skipped steps have exactly the times of all others.
    """

    def __init__(self, period: int | None) -> None:
        self._period = period
        self._seen: dict[tuple[bytes, int], tuple[int, int]] = {}

    def repeats(self, now: np.ndarray, r: int, k: int, steps: int) -> Repeats | None:
        """Return the steps between k and ``steps`` that can be skipped, None if the state is new."""
        if self._period is None:
            return None
        latest = int(now.max())
        key = (now - latest).tobytes(), r % self._period
        if key not in self._seen:
            self._seen[key] = k, latest
            return None
        began, then = self._seen[key]
        times = (steps - k) // (k - began)
        return Repeats(times * (k - began), times * (latest - then)) if times else None


class Rounds:
    """The rounds of a run on the links of a network."""

    def __init__(self, graph: Graph, links: Links, seed: int, name: str) -> None:
        self._graph, self._links, self._seed, self._name = graph, links, seed, name
        self._prepared: dict[tuple[int, float], tuple[Messages, np.ndarray, np.ndarray]] = {}

    def after(self, now: np.ndarray, r: int, t: int, bits: float) -> np.ndarray:
        """Return the times of the nodes after round r of step t with messages of so many bits."""
        if self._graph.kind == "alone":
            return now
        if self._graph.kind == "all_reduce":
            wait = self._links.all_reduce_waits(self._seed, r) if self._links.loss else 0
            return np.full_like(now, now.max() + self._links.all_reduce(bits) + wait)
        (source, target, _), starts, delay = self._round(r, t, bits)
        if self._links.loss:
            delay = delay + self._links.waits(self._seed, r, source, target)
        return np.maximum.reduceat(now[source] + delay, starts)

    def _round(self, r: int, t: int, bits: float) -> tuple[Messages, np.ndarray, np.ndarray]:
        """Return the messages of a round, the first one of each receiver, and their times."""
        period = self._graph.period
        if period is None:
            return self._prepare(r, t, bits)
        key = r % period, bits
        if key not in self._prepared:
            self._prepared[key] = self._prepare(r, t, bits)
        return self._prepared[key]

    def _prepare(self, r: int, t: int, bits: float) -> tuple[Messages, np.ndarray, np.ndarray]:
        messages = self._graph.messages(r, t)
        delay = self._links.delays(messages.source, messages.target, bits)
        if messages.lost is not None and messages.lost.any():
            if self._links.timeout is None:
                raise UserError(
                    f"The run loses messages, but the network '{self._name}' has no time-out. Add timeout_ms to the "
                    "section links of its file."
                )
            delay = delay + messages.lost * self._links.timeout
        return messages, np.searchsorted(messages.target, np.arange(self._graph.nodes)), delay
