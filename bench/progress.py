"""A bar for things that take a while and are somebody else's: downloads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

PATIENCE_S = 0.1
"""Seconds between looks."""


@contextmanager
def growing(console: Console, title: str, folder: Path) -> Iterator[None]:
    """A bar that shows how much a folder holds, while something fills it; a plain line without a terminal."""
    if not console.is_terminal:
        console.print(f"{title} …", markup=False)
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
