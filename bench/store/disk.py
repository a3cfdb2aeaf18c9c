"""Sync files to disk, so that they survive a power loss."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

FEW = 8
"""Up to this many folders, every file is synced by itself; for more, the whole file system is synced once."""


def make_lasting(folders: Sequence[Path]) -> None:
    """Sync all files of these folders to disk."""
    sync_file_system = getattr(ctypes.CDLL(None), "syncfs", None)  # not on every operating system
    if len(folders) > FEW and sync_file_system and wait_for(folders[0], sync_file_system) == 0:
        return
    for folder in folders:
        for path in folder.iterdir():
            # other processes create and delete temporary files, and other users may have put files there
            with suppress(FileNotFoundError, PermissionError):
                if path.is_file() and not path.is_symlink():
                    wait_for(path)
        wait_for(folder)


def wait_for(path: Path, sync: Callable[[int], Any] | None = None) -> Any:
    """Sync a file, or the names in a folder, to disk, with fsync or another call."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return (sync or os.fsync)(descriptor)
    finally:
        os.close(descriptor)


class Pace:
    """Syncs files during runs, so rarely that it takes 1 % of the time."""

    SHARE = 0.01
    FIRST_S = 5.0
    """Seconds before the first sync: a shorter run is repeated as fast."""

    def __init__(self) -> None:
        self._next = time.monotonic() + self.FIRST_S
        self._step, self._waits, self._spent = -1, False, 0.0
        self._seen: set[Path] = set()

    def wait(self, step: int, path: Path) -> bool:
        """Sync a file written at this step, if a sync is due; the decision is the same for all runs of a group."""
        began = time.monotonic()
        if step != self._step or path in self._seen:
            self._step, self._waits, self._spent, self._seen = step, began >= self._next, 0.0, set()
        self._seen.add(path)
        if self._waits:
            wait_for(path)
            wait_for(path.parent)
            now = time.monotonic()
            self._spent += now - began
            self._next = now + self._spent / self.SHARE
        return self._waits
