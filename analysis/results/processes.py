"""Independent pieces of work on all cores."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

T = TypeVar("T")


def on_all_cores(work: Sequence[Callable[[], T]]) -> Iterator[T]:
    """Yield the return values in order. Each function is called in one of several processes, forked now.

    Fork, so that neither the functions nor the results that they read are sent to the processes.
    """
    global _work
    if len(work) < 3 or sys.platform != "linux":
        yield from (function() for function in work)
        return
    _work = work
    gc.freeze()  # a search for garbage in a process would copy the memory that it shares with the others
    with ProcessPoolExecutor(min(len(work), os.cpu_count() or 1), get_context("fork"), _start) as pool:
        yield from pool.map(_call, range(len(work)))


_work: Sequence[Callable[[], Any]] = ()


def _call(place: int) -> Any:
    return _work[place]()


def _start() -> None:
    """Leave Ctrl-C to the parent: a worker finishes its piece, and gets no other. End with a parent that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # else the worker would wait forever for its next piece
