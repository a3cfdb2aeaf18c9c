"""Snapshots of a run between two steps, and the interface that receives its progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from bench.store.record import Row


@dataclass(frozen=True)
class Outcome:
    """The end of one replica."""

    state: str  # done or nonfinite
    step: int  # of the last evaluation: T, or the first non-finite one


@dataclass(frozen=True)
class Snapshot:
    """A run between two steps, complete enough to resume it."""

    step: int
    state: Mapping[str, Tensor]  # of the method, fields (R, k, …) of the hosted nodes
    seconds: list[Row]  # spent by every replica
    last: list[Row]  # the latest row of every replica
    counts: Sequence[np.ndarray]  # CostCounter.kept of every replica
    in_flight: Mapping[str, Tensor] = field(default_factory=dict)  # messages between nodes, (R, k, …)

    def only(self, replicas: Sequence[int]) -> Snapshot:
        """Return the snapshot of some replicas."""
        keep = list(replicas)
        state, in_flight = ({k: v[keep] for k, v in part.items()} for part in (self.state, self.in_flight))
        seconds, last = ([rows[r] for r in keep] for rows in (self.seconds, self.last))
        return Snapshot(self.step, state, seconds, last, [self.counts[r] for r in keep], in_flight)


class Observer:
    """Receives the progress of a run. Override any of the methods."""

    def learn(self, r: int, facts: Row) -> None:
        """Receive facts about replica ``r``, before its first step."""

    def record(self, r: int, row: Row) -> None:
        """Receive an evaluation of replica ``r``."""

    def end(self, r: int, outcome: Outcome) -> None:
        """Note that replica ``r`` has made its last evaluation."""

    def tick(self, t: int) -> None:
        """Note that step t is done."""

    def leaves(self, t: int) -> bool:
        """Return whether the run is preempted after step t."""
        return False

    def wait(self, reason: str) -> None:
        """Note that the run waits, and the reason."""

    def checkpoint(self, r: int, moment: Snapshot) -> None:
        """Write a checkpoint of replica ``r``; the snapshot has no other replica."""
