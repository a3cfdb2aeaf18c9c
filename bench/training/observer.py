"""What a run tells while it is under way, and where it stands between two steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from bench.store.record import Row


@dataclass(frozen=True)
class Outcome:
    """How one replica ended."""

    state: str  # of bench.store.record.FINAL; in this loop done or diverged
    step: int  # the last evaluation: T, or the first one that is not finite


@dataclass(frozen=True)
class Snapshot:
    """A run between two steps: all it takes to go on from there."""

    step: int
    state: Mapping[str, Tensor]  # every field of the algorithm's state, (R, k, …), of the hosted nodes
    seconds: list[Row]  # that every replica has spent so far
    last: list[Row]  # the latest row of every replica
    counts: Sequence[np.ndarray]  # what its costs keeps of every replica
    in_flight: Mapping[str, Tensor] = field(default_factory=dict)  # what is under way between nodes, (R, k, …)

    def only(self, replicas: Sequence[int]) -> Snapshot:
        """The same for some of the replicas."""
        keep = list(replicas)
        state = {name: tensor[keep] for name, tensor in self.state.items()}
        seconds, last = [self.seconds[r] for r in keep], [self.last[r] for r in keep]
        in_flight = {name: tensor[keep] for name, tensor in self.in_flight.items()}
        return Snapshot(self.step, state, seconds, last, [self.counts[r] for r in keep], in_flight)


class Observer:
    """Hears what a run has to tell while it is under way. Any method may be overridden, none must."""

    def learn(self, r: int, facts: Row) -> None:
        """What is found out about replica ``r`` before its first step."""

    def record(self, r: int, row: Row) -> None:
        """An evaluation of replica ``r``."""

    def end(self, r: int, outcome: Outcome) -> None:
        """Replica ``r`` has made its last evaluation."""

    def tick(self, t: int) -> None:
        """Step t is done."""

    def leaves(self, t: int) -> bool:
        """Whether the run is to stop after step t, to go on from there another time."""
        return False

    def wait(self, reason: str) -> None:
        """Nothing happens for a while, and why."""

    def checkpoint(self, r: int, moment: Snapshot) -> None:
        """A good time to note where replica ``r`` stands; the moment is its alone."""
