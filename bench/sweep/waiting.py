"""What is still to be made: groups of runs that wait, and those that other processes hold."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from bench.base import preemption
from bench.base.preemption import Preempted
from bench.sweep.resume import Run

Group = list[Run]
LATE_S = 0.5
"""Seconds in which whoever was the first at a group has claimed all of it."""
LOOK_S = 0.3
"""Seconds between two looks at what other processes hold."""


class Waiting:
    """Groups that wait for a worker of this process; several threads may ask."""

    def __init__(self, pulls: bool) -> None:
        """One that ``pulls`` is one of several processes with the same order: whoever is the first at a group has all
        of it, and none waits for another."""
        self._pulls = pulls
        self.patience = LATE_S  # of one that pulls, until it believes that those who hold runs are alive
        self._groups: deque[Group] = deque()
        self._elsewhere: list[Group] = []

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, groups: Sequence[Group]) -> None:
        self._groups.extend(groups)

    def lose(self, group: Group) -> None:
        """Another process makes these."""
        self._elsewhere += [group] if group else []

    def next(self) -> Group | None:
        """The group that has waited longest, if one has; Preempted, where this process was asked to leave it."""
        if self._groups and preemption.requested():
            raise Preempted
        try:
            return self._groups.popleft()
        except IndexError:  # none, or another worker was faster
            return None

    def claim(self, group: Group, failing: Callable[[Run], AbstractContextManager[None]]) -> Group:
        """What of a group is ours from now on; the rest is elsewhere. ``failing`` deals with folders that fail."""
        ours: Group = []
        theirs: Group = []
        for folder in group:
            with failing(folder):
                late = self._pulls and theirs and not ours
                (ours if not late and folder.claim() else theirs).append(folder)
        self.lose(theirs)
        return ours

    def follow(self, work: Callable[[], None], say: Callable[[str], None]) -> None:
        """Wait for other processes, and ``work`` at what they leave undone; one that pulls leaves them to it."""
        last, said = time.monotonic(), ""
        while self._elsewhere:
            if preemption.requested():
                raise Preempted
            if self._pulls:
                time.sleep(LATE_S)
            free = self._taken_back()
            work()
            last = time.monotonic() if free else last
            if self._elsewhere and not free:
                if self._pulls and time.monotonic() - last >= self.patience:
                    return
                if (words := self._whom()) != said:
                    said = words
                    say(words)
                time.sleep(LOOK_S)

    def _taken_back(self) -> int:
        """What other processes have let go of waits for us again, in the groups that it had; how many they are."""
        groups, self._elsewhere = self._elsewhere, []
        before = len(self._groups)
        for group in groups:
            free = [folder for folder in group if folder.claim()]
            for folder in free:
                folder.release()
            self._groups += [free] if free else []
            self.lose([folder for folder in group if folder not in free])
        return len(self._groups) - before

    def _whom(self) -> str:
        """Whose runs are waited for."""
        folder, *others = [folder for group in self._elsewhere for folder in group]
        more = f" and {len(others)} more" if others else ""
        return f"Waiting for {folder.path.name}{more}: made by {folder.lock.holder()}."
