"""Asked to leave: queues send SIGTERM, SIGUSR1 or SIGUSR2 before they take a machine away.

What is under way finishes its step, writes down where it stands, and goes on from there when it is started again.
"""

from __future__ import annotations

import signal
import time
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
AGAIN_S = 5.0
"""A signal that comes so many seconds after the first means: at once. Sooner, it is the first, sent to everybody."""


class Preempted(Exception):
    """What was under way has been written down, and this process is to end."""


_heard: list[tuple[signal.Signals, float]] = []


def listen() -> None:
    """From now on a signal is a wish, which ``requested`` returns."""
    for number in SIGNALS:
        signal.signal(number, _hear)


def ignore() -> None:
    """Signals are for the runner, who tells this process what to do: queues send them to every process."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def requested() -> signal.Signals | None:
    """The signal that asked this process to leave, if one has."""
    return _heard[0][0] if _heard else None


def _hear(number: int, frame: FrameType | None) -> None:
    if _heard and time.monotonic() - _heard[0][1] > AGAIN_S:
        raise KeyboardInterrupt
    _heard.append((signal.Signals(number), time.monotonic()))
