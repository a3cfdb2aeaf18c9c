"""A clock for time-outs that does not count the time in which this process is stopped or suspended."""

from __future__ import annotations

import time

LONGEST_S = 1.0
"""The most seconds that count between two readings."""


class Awake:
    """A clock for loops that read it several times a second."""

    def __init__(self) -> None:
        self._seconds, self._seen = 0.0, time.monotonic()

    def __call__(self) -> float:
        """Return the seconds since the clock was made."""
        now = time.monotonic()
        self._seconds += min(now - self._seen, LONGEST_S)
        self._seen = now
        return self._seconds
