"""How far things are that take a while before anything runs: downloads, long lists of configurations."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from bench.terminal.console import Console

PATIENCE_S = 0.1
"""Seconds between looks;"""
SOON_S, MILESTONE_S = 0.7, 5.0
"""after which something is said at all, and between lines where there is no terminal;"""
MANY = 100
"""how many there must be for a line there."""


@contextmanager
def showing_growth(console: Console, title: str, folder: Path) -> Iterator[None]:
    """A bar that shows how much a folder holds, while something fills it; a plain line without a terminal."""
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
                progress.update(task, completed=size(folder))

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()


def size(folder: Path) -> int:
    """Bytes of the files in a folder that may change under our eyes."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += 0 if path.is_symlink() else path.stat().st_size
        except OSError:
            continue
    return total


@contextmanager
def counting(console: Console, words: str) -> Iterator[Callable[[int, int], None]]:
    """A function to be told how many are made, of how many: a line that moves, or a plain one now and then.

    ``words`` has a place for both, as in "composing {} of {} configurations". Nothing is said of what is quickly done.
    """
    began = said = time.monotonic()
    line = console.status("") if console.is_terminal else None

    def tell(made: int, of: int) -> None:
        nonlocal said
        now = time.monotonic()
        first = said == began
        if now - said < (SOON_S if first else PATIENCE_S if line else MILESTONE_S) or (line is None and of < MANY):
            return
        said = now
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
