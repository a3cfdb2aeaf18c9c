"""Write the results of a group of runs to its folders, and show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.base import errors, preemption
from bench.store.disk import Pace
from bench.store.record import Row
from bench.sweep.resume import Run
from bench.sweep.tracking.tracker import Tracker
from bench.terminal.display import Display
from bench.training import checkpoint
from bench.training.observer import Observer, Outcome, Snapshot


class Stored(Observer):
    """Observer that writes to the run folders and informs the display and the tracker."""

    def __init__(self, folders: Sequence[Run], display: Display, tracker: Tracker | None = None) -> None:
        self._folders, self._display, self._tracker = folders, display, tracker or Tracker()
        self.outcomes: dict[int, Outcome] = {}
        self._pace = Pace()

    def learn(self, r: int, facts: Row) -> None:
        with errors.store_errors(self._folders[r].path):
            self._folders[r].learn(facts)
        if r == 0 and (reason := facts.get("not_captured")):
            method = self._folders[0].config.algo.name
            self._display.say(f"Steps of {method} run one by one, not as a CUDA graph: {reason}.")

    def record(self, r: int, row: Row) -> None:
        with errors.store_errors(self._folders[r].path):
            self._folders[r].record(row)
            self._pace.wait(row["step"], self._folders[r].stream)
        self._display.record(self._folders, r, row)

    def end(self, r: int, outcome: Outcome) -> None:
        with errors.store_errors(self._folders[r].path):
            self.outcomes[r] = replace(outcome, state=self._folders[r].finish(outcome.state, outcome.step))
        self._tracker.end(self._folders[r].path)

    def tick(self, t: int) -> None:
        self._display.tick(self._folders, t)

    def leaves(self, t: int) -> bool:
        return preemption.requested() is not None

    def wait(self, reason: str) -> None:
        self._display.wait(self._folders, reason)

    def checkpoint(self, r: int, moment: Snapshot) -> None:
        folder = self._folders[r]
        folder.must_be_ours()
        with errors.store_errors(folder.path):
            checkpoint.write(folder.checkpoints, moment, range(folder.config.nodes), folder.must_be_ours, folder.start)
