"""Preemption of a run on several ranks: all of them stop after the same step and write one checkpoint."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

from bench.base.awake import Awake
from bench.engine.link import Message

GRACE_S = 60.0
"""Seconds within which the ranks must agree on a step."""
Send = Callable[[Message], Any]


class ShutdownCoordinator:
    """The runner's side.

    Ranks are some steps apart and wait for each other's rows. Until all have reported, the goal is one step beyond the
    foremost rank, so that no rank waits for the rows of a stopped one. Then all continue to the foremost rank's step.
    """

    def __init__(self, ranks: int, steps: int, send: Send) -> None:
        """``send`` sends a message to all ranks."""
        self._ranks, self._steps, self._send = ranks, steps, send
        self._at: dict[int, int] = {}
        self._goal, self._clock = -1, Awake()
        self._order(final=False)

    @property
    def overdue(self) -> bool:
        return self._clock() > GRACE_S

    def at(self, rank: int, t: int) -> None:
        """Note that a rank has finished step t, and waits there unless the goal is beyond t."""
        self._at[rank] = t
        complete, foremost = len(self._at) == self._ranks, max(self._at.values())
        goal = max(self._goal, foremost if complete else foremost + 1)
        final = complete and set(self._at.values()) == {goal}
        if final or goal > self._goal:
            self._goal = goal
            self._order(final)

    def ended(self, rank: int) -> None:
        """Note that a rank has finished the last step: the others will, too."""
        self.at(rank, self._steps)

    def _order(self, final: bool) -> None:
        self._send({"leave": self._goal, "final": final})


class ShutdownClient:
    """A rank's side."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._orders: queue.Queue[Message] = queue.Queue()
        self._requested = self._reported = False
        self._goal = -1

    def receive(self, order: Message) -> None:
        """Take an order of the runner; called by the thread that reads its messages."""
        self._orders.put(order)
        self._requested = True

    def after(self, t: int) -> bool:
        """Return whether all ranks stop after step t; wait until the runner has decided."""
        if not self._requested:
            return False
        while not self._orders.empty():
            self._goal = self._orders.get()["leave"]
        if not self._reported or t >= self._goal:
            self._reported = True  # report at least once: the runner waits for every rank
            self._send({"at": t})
        final = False
        while self._goal <= t and not final:
            order = self._orders.get()
            self._goal, final = order["leave"], order["final"]
        return final
