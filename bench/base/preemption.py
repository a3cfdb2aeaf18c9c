"""Preemption: queues send SIGTERM, SIGUSR1 or SIGUSR2 before they end a job.

A preempted run finishes its step and writes a checkpoint. The same command resumes it.
"""

from __future__ import annotations

import ctypes
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
AGAIN_S = 5.0
"""Seconds after which a second signal ends the process at once; queues may send the first one several times."""


class Preempted(Exception):
    """The run has written its checkpoint, and this process must end."""


_received: list[tuple[signal.Signals, float]] = []


def listen() -> None:
    """Install handlers that record the signals; see ``requested``."""
    for number in SIGNALS:
        signal.signal(number, _record)


@contextmanager
def listening() -> Iterator[None]:
    """Record the signals for a while; then restore the handlers, forget the first recorded signal, and send it again.

    The next sweep of this process must not see it: a handler of the user may let the process live.
    """
    before = {number: (signal.getsignal(number), _action(number)) for number in SIGNALS}
    try:
        listen()
        yield
    finally:
        for number, (handler, action) in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: C code has set it
            _libc.sigaction(number, action, None)
        received = requested()
        _received.clear()
        if received:
            signal.raise_signal(received)


_libc = ctypes.CDLL(None)


def _action(number: int) -> ctypes.Array[ctypes.c_char]:
    """Return the handler of a signal as the system knows it; Python does not know those of C code (faulthandler)."""
    action = ctypes.create_string_buffer(1024)  # more than struct sigaction has on any system
    _libc.sigaction(number, None, action)
    return action


def ignore() -> None:
    """Ignore the signals in a rank: queues send them to every process, and the runner forwards them."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def requested() -> signal.Signals | None:
    """Return the signal that has preempted this process, if any."""
    return _received[0][0] if _received else None


def _record(number: int, frame: FrameType | None) -> None:
    if _received and time.monotonic() - _received[0][1] > AGAIN_S:
        raise KeyboardInterrupt
    _received.append((signal.Signals(number), time.monotonic()))
