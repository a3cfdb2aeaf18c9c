"""Leaving a run that several ranks make: all of them stop after the same step, and write down one moment."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

from bench.base.awake import Awake
from bench.engine.link import Message

GRACE_S = 60.0
"""Seconds after which ranks that have not come to one step are left where they are."""
Send = Callable[[Message], Any]


class ShutdownCoordinator:
    """The runner's side. Ranks are some steps apart and wait for each other's rows: whoever reports first may make one
    step more, until the last one has reported; then all go on to where the foremost stands."""

    def __init__(self, ranks: int, steps: int, send: Send) -> None:
        """``send`` reaches all ranks."""
        self._ranks, self._steps, self._send = ranks, steps, send
        self._at: dict[int, int] = {}
        self._goal, self._clock = -1, Awake()
        self._order(final=False)

    @property
    def overdue(self) -> bool:
        return self._clock() > GRACE_S

    def at(self, rank: int, t: int) -> None:
        """A rank stands after step t, and waits there if it has not been told to go on."""
        self._at[rank] = t
        everybody, foremost = len(self._at) == self._ranks, max(self._at.values())
        goal = max(self._goal, foremost if everybody else foremost + 1)
        final = everybody and set(self._at.values()) == {goal}
        if final or goal > self._goal:
            self._goal = goal
            self._order(final)

    def ended(self, rank: int) -> None:
        """A rank has made its last step: the others will, too."""
        self.at(rank, self._steps)

    def _order(self, final: bool) -> None:
        self._send({"leave": self._goal, "final": final})


class ShutdownClient:
    """A rank's side."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._orders: queue.Queue[Message] = queue.Queue()
        self._asked = self._known = False
        self._goal = -1

    def hear(self, order: Message) -> None:
        """From the thread that listens to the runner."""
        self._orders.put(order)
        self._asked = True

    def after(self, t: int) -> bool:
        """Whether this and every other rank stop after step t; until that is known, this one waits here."""
        if not self._asked:
            return False
        while not self._orders.empty():
            self._goal = self._orders.get()["leave"]
        if not self._known or t >= self._goal:
            self._known = True  # whoever only followed the foremost would never be waited for
            self._send({"at": t})
        final = False
        while self._goal <= t and not final:
            order = self._orders.get()
            self._goal, final = order["leave"], order["final"]
        return final
