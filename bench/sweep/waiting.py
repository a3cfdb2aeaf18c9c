"""The queue of groups of runs: waiting for this process, or taken by other processes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from bench.base import preemption
from bench.base.preemption import Preempted
from bench.sweep.resume import Run

Group = list[Run]
Failing = Callable[[Run], AbstractContextManager[None]]
"""Handles errors of a run's folder."""
LATE_S = 0.5
"""Seconds within which the first worker at a group has locked all its runs."""
LOOK_S = 0.3
"""Seconds between two checks of the runs of other processes."""


class Waiting:
    """Groups that wait for a worker of this process; safe for several threads."""

    def __init__(self, pulls: bool) -> None:
        """``pulls``: several processes share an order. The first one at a group takes all of it, and none waits."""
        self._pulls = pulls
        self.patience = LATE_S  # seconds after which a process that pulls assumes that other processes are alive
        self._groups: deque[Group] = deque()
        self._elsewhere: list[Group] = []

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, groups: Sequence[Group]) -> None:
        self._groups.extend(groups)

    def lose(self, group: Group) -> None:
        """Note runs that another process computes."""
        self._elsewhere += [group] if group else []

    def next(self) -> Group | None:
        """Return the next group, if any; raises Preempted if preemption was requested."""
        if self._groups and preemption.requested():
            raise Preempted
        try:
            return self._groups.popleft()
        except IndexError:  # empty, or another thread was faster
            return None

    def claim(self, group: Group, failing: Failing) -> Group:
        """Lock the runs of a group and return those that were free."""
        ours: Group = []
        theirs: Group = []
        for folder in group:
            with failing(folder):
                late = self._pulls and theirs and not ours
                (ours if not late and folder.claim() else theirs).append(folder)
        self.lose(theirs)
        return ours

    def follow(self, work: Callable[[], None], say: Callable[[str], None], failing: Failing) -> None:
        """Wait for other processes, and call ``work`` for runs that they release; with ``pulls``, do not wait long."""
        last, shown = time.monotonic(), ""
        while self._elsewhere:
            if preemption.requested():
                raise Preempted
            if self._pulls:
                time.sleep(LATE_S)
            free = self._taken_back(failing)
            work()
            last = time.monotonic() if free else last
            if self._elsewhere and not free:
                if self._pulls and time.monotonic() - last >= self.patience:
                    return
                if (text := self._whom()) != shown:
                    shown = text
                    say(text)
                time.sleep(LOOK_S)

    def _taken_back(self, failing: Failing) -> int:
        """Queue the runs that other processes have released, in their groups; returns the number of groups."""
        groups, self._elsewhere = self._elsewhere, []
        before = len(self._groups)
        for group in groups:
            free: Group = []
            taken: Group = []
            for folder in group:
                with failing(folder):
                    (free if folder.claim() else taken).append(folder)
            for folder in free:
                folder.release()
            self._groups += [free] if free else []
            self.lose(taken)
        return len(self._groups) - before

    def _whom(self) -> str:
        """Describe the processes that are waited for."""
        folder, *others = [folder for group in self._elsewhere for folder in group]
        more = f" and {len(others)} more" if others else ""
        return f"Waiting for {folder.path.name}{more}: computed by {folder.lock.holder()}."
