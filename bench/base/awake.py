"""Time as this process lives it: a process that is stopped, suspended or frozen has not waited for anybody."""

from __future__ import annotations

import time

LONGEST_S = 1.0
"""Seconds that a pause between two looks at the clock counts at most."""


class Awake:
    """A clock for time-outs of loops that look at it several times a second; SIGSTOP and the like hardly move it."""

    def __init__(self) -> None:
        self._seconds, self._seen = 0.0, time.monotonic()

    def __call__(self) -> float:
        """Seconds since it was made."""
        now = time.monotonic()
        self._seconds += min(now - self._seen, LONGEST_S)
        self._seen = now
        return self._seconds
