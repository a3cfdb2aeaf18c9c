"""The tape of an asynchronous run: all its events, in order, with their times in whole nanoseconds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bench.base.errors import UserError
from bench.clock.compute import NANO, Compute
from bench.events.arcs import TimedArcs
from bench.events.durations import LONGEST, durations, nominal
from bench.events.messages import messages, one_late
from bench.events.pairs import meetings, pairs
from bench.events.rows import COLUMNS, Drawn, Kind, Pattern, Sends, in_order
from bench.events.summary import Gradients, gradients_of


def _none() -> np.ndarray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Tape:
    """The events of a run. Arrays have one entry per event, (E,), sorted by time, kind, node, peer and number.

    Attributes:
        time: When the event happens, in nanoseconds, int64.
        kind: The ``Kind`` of the event, int8.
        node: The receiver of a message, the first node of a pair, or the node whose gradient ended, int32.
        peer: The sender of a message or the second node of a pair, int32; −1 for a gradient.
        number: The number of the message of its sender, of the exchange of this pair, or of the gradient of the node,
            each from 0, int64. Message k of a node is sent after its gradient k.
        begins: When the gradient began to be computed, the message was sent, or the exchange began, int64.
        computed: When the computation of a gradient ended, int64; ``time - computed`` is its waiting time. Equal to
            ``time`` for other events.
        unit: The nanoseconds of a nominal gradient, of a node that is not slow, without random parts.
        nodes: The number of nodes.
        pending: When each node has computed the gradient after its last one on the tape, (n,).
        degree: The number of messages that each node sends after a gradient, (n,).
        lost: When the transfers of lost messages began, sorted.
        replaced: When waiting messages were replaced by newer ones, sorted.
        unsent: When gradients ended after which a node did not send, once for each neighbor, sorted.
        skipped: The senders and the numbers of the replaced messages, (r, 2).
    """

    time: np.ndarray
    kind: np.ndarray
    node: np.ndarray
    peer: np.ndarray
    number: np.ndarray
    begins: np.ndarray
    computed: np.ndarray
    unit: int
    nodes: int
    pending: np.ndarray = field(default_factory=_none)
    degree: np.ndarray = field(default_factory=_none)
    lost: np.ndarray = field(default_factory=_none)
    replaced: np.ndarray = field(default_factory=_none)
    unsent: np.ndarray = field(default_factory=_none)
    skipped: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.time)

    def hash(self) -> str:
        """Return the SHA-256 of all events, of the unit and of the number of nodes."""
        sha = hashlib.sha256(f"{len(self)}/{self.unit}/{self.nodes}".encode())
        for name, kind in COLUMNS.items():
            sha.update(np.ascontiguousarray(getattr(self, name), dtype=np.dtype(kind).newbyteorder("<")).tobytes())
        return sha.hexdigest()

    def upto(self, steps: Any) -> np.ndarray:
        """Return the number of events until time ``steps * unit``, also for an array of steps."""
        return np.searchsorted(self.time, np.asarray(steps) * self.unit, side="right")

    @cached_property
    def _gradients(self) -> Gradients:
        return gradients_of(self.kind, self.node, self.peer, self.time, self.begins, self.computed, self.nodes)

    def summary(self, steps: float) -> dict[str, float]:
        """Return facts about the run until time ``steps * unit``, which must not be after the end of the tape.

        Returns:
            virtual_s: The time in seconds.
            gradients_min, gradients_median, gradients_max: Completed gradients of a node.
            idle_s_min, idle_s_median, idle_s_max: Seconds in which a node does not compute.
            staleness_mean, staleness_max: Events that changed the model of a node between the begin and the end of a
                gradient; 0 without gradients.
            staleness_s_mean, staleness_s_max: Seconds between the begin and the end of a gradient.
            messages_under_way: Messages that are sent, but neither delivered, lost nor replaced. Exchanges of pairs do
                not count.
            messages_lost, messages_replaced: Messages that never arrive.
        """
        now, facts = int(steps * self.unit), self._gradients
        events = int(np.searchsorted(self.time, now, side="right"))
        made = int(np.searchsorted(facts.rows, events))
        count = np.bincount(self.node[facts.rows[:made]], minlength=self.nodes)
        idle = (now - self._busy(now, count)) / NANO
        ends = [int(np.searchsorted(each, now, side="right")) for each in (self.lost, self.replaced, self.unsent)]
        delivered = int(np.count_nonzero(self.kind[:events] == Kind.DELIVER))
        under_way = int(count @ self.degree) - delivered - sum(ends) if len(self.degree) else 0
        return {
            "virtual_s": now / NANO,
            **_spread("gradients", count),
            **_spread("idle_s", idle),
            "staleness_mean": float(facts.changes[made] / max(made, 1)),
            "staleness_max": float(facts.most[made]),
            "staleness_s_mean": float(facts.waited[made] / max(made, 1) / NANO),
            "staleness_s_max": float(facts.longest[made] / NANO),
            "messages_under_way": float(under_way),
            "messages_lost": float(ends[0]),
            "messages_replaced": float(ends[1]),
        }

    def _busy(self, now: int, count: np.ndarray) -> np.ndarray:
        """Return the nanoseconds that each node has computed until ``now``, with so many completed gradients, (n,)."""
        facts = self._gradients
        place = facts.first[:-1] + count
        rows, total = facts.rows[facts.order], len(facts.rows)
        began = np.where(count > 0, self.time[rows[place - 1]] if total else 0, 0)
        on_tape = place < facts.first[1:]
        later = self.pending if len(self.pending) else np.full(self.nodes, now)
        computed = np.where(on_tape, self.computed[rows[np.minimum(place, total - 1)]] if total else 0, later)
        return facts.busy[place] - facts.busy[facts.first[:-1]] + np.minimum(computed, now) - began


def _spread(name: str, values: np.ndarray) -> dict[str, float]:
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return {f"{name}_min": float(low), f"{name}_median": float(middle), f"{name}_max": float(high)}


def draw_tape(
    pattern: Pattern,
    source: np.ndarray,
    target: np.ndarray,
    delays: np.ndarray,
    compute: Compute,
    seed: int,
    nodes: int,
    steps: int,
    *,
    transfer: np.ndarray | None = None,
    lost: float = 0.0,
    rate: float = 1.0,
    sends: Sends | None = None,
) -> Tape:
    """Draw the events of a run until time ``steps`` times the nominal time of a gradient.

    Args:
        pattern: Which events cause which. ``messages``: nodes never wait, and send a message to all out-neighbors after
            every gradient. ``pairs``: active nodes average with a neighbor after every gradient. ``meetings``: pairs
            average at random times, and gradients never wait. ``one_late``: nodes complete gradient k when they have
            computed it and have the messages of gradient k − 1 of all in-neighbors.
        source: The sender of each arc of the graph, without self-loops, (m,).
        target: The receiver of each arc, (m,).
        delays: The nanoseconds of a message on each arc if it is idle, (m,); at least 1 is used.
        compute: The compute times; those of gradient k are those of step k of the synchronous clock.
        seed: The key of random draws.
        nodes: The number of nodes.
        steps: The length of the tape, in nominal times of a gradient.
        transfer: The nanoseconds that a message occupies its arc, (m,); None: no time.
        lost: The probability that a message is lost, for ``messages``.
        rate: The mean number of exchanges of a node per nominal time of a gradient, for ``meetings``.
        sends: After which gradients a node sends, for ``messages``; None: after every one.

    Raises:
        UserError: The compute times, the graph or the options do not suit the pattern.
    """
    unit = nominal(compute)
    end = steps * unit
    if not 0 <= end < LONGEST:
        raise UserError(f"An asynchronous run may have at most {LONGEST // unit} steps on this network, got {steps}.")
    if not 0 <= lost < 1 or (lost and pattern != "messages"):
        raise UserError(
            f"The probability of a loss must be at least 0 and less than 1, and 0 for methods that wait; got {lost!r}."
        )
    if not 0 < rate < np.inf:
        raise UserError(f"The rate of exchanges must be positive and finite, got {rate!r}.")
    arcs = TimedArcs.of(nodes, source, target, delays, transfer, end)
    lasted = durations(compute, seed, nodes, end)
    drawn: Drawn
    if pattern == "messages":
        drawn = messages(arcs, lasted, seed, end, lost, sends)
    elif pattern == "one_late":
        drawn = one_late(arcs, lasted, end)
    elif pattern == "pairs":
        drawn = pairs(arcs, lasted, seed, end)
    else:
        drawn = meetings(arcs, lasted, seed, end, unit, rate)
    return Tape(
        **in_order(drawn.rows, end),
        unit=unit,
        nodes=nodes,
        pending=drawn.pending,
        degree=drawn.degree,
        lost=drawn.lost,
        replaced=drawn.replaced,
        unsent=drawn.unsent,
        skipped=drawn.skipped,
    )
