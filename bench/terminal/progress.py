"""Progress of downloads and of long lists, before any run starts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from bench.terminal.console import Console

PATIENCE_S = 0.1
"""Seconds between updates."""
SOON_S, MILESTONE_S = 0.7, 5.0
"""Seconds before the first line, and between lines without a terminal."""
MANY = 100
"""The number of items from which lines are printed without a terminal."""


@contextmanager
def showing_growth(console: Console, title: str, folder: Path) -> Iterator[None]:
    """Show the size of a folder while the body fills it; without a terminal, print one line."""
    if not console.is_terminal:
        console.print(f"{title} …")
        yield
        return
    columns: list[Any] = [TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn()]
    finished = threading.Event()
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task(title, total=None)

        def look() -> None:
            while not finished.wait(PATIENCE_S):
                progress.update(task, completed=_size(folder))

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()


def _size(folder: Path) -> int:
    """Return the bytes of the files in a folder, which may change meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += 0 if path.is_symlink() else path.stat().st_size
    return total


@contextmanager
def counting(console: Console, words: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows its two arguments in ``words``, as in "composing {} of {} configurations".

    A terminal has one line that changes, a file a line every few seconds. Nothing is printed about quick work.
    """
    began = shown = time.monotonic()
    line = console.status("") if console.is_terminal else None

    def tell(made: int, of: int) -> None:
        nonlocal shown
        now, first = time.monotonic(), shown == began
        if now - shown < (SOON_S if first else PATIENCE_S if line else MILESTONE_S) or (line is None and of < MANY):
            return
        shown = now
        if line is None:
            console.print(f"{words.format(made, of)} …")
            return
        line.update(f"{words.format(made, of)} …")
        if first:
            line.start()

    try:
        yield tell
    finally:
        if line is not None:
            line.stop()
