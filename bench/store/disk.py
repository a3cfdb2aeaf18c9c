"""Waiting for the disk: what the operating system has taken is not yet what the loss of the machine leaves."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

FEW = 8
"""Folders up to which every file is waited for; of more, their whole file system at once."""


def make_lasting(folders: Sequence[Path]) -> None:
    """Until all that lies in these folders would survive the loss of the machine."""
    if len(folders) > FEW and _whole_file_system(folders[0]):
        return
    for folder in folders:
        for path in folder.iterdir():
            with suppress(FileNotFoundError):  # drafts of others come and go
                if path.is_file() and not path.is_symlink():
                    wait_for(path)
        wait_for(folder)


def wait_for(path: Path) -> None:
    """Until the content of a file, or the names in a folder, would survive the loss of the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _whole_file_system(folder: Path) -> bool:
    """One call in the place of thousands; False where the system has none."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "syncfs"):
        return False
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        return bool(library.syncfs(descriptor) == 0)
    finally:
        os.close(descriptor)


class Pace:
    """Waits for the disk in the middle of runs, at steps so far apart that it costs a hundredth of the time."""

    SHARE = 0.01
    FIRST_S = 5.0
    """Seconds that pass before the first time: what is short is made again as fast."""

    def __init__(self) -> None:
        self._next = time.monotonic() + self.FIRST_S
        self._step, self._waits, self._spent = -1, False, 0.0
        self._seen: set[Path] = set()

    def wait(self, step: int, path: Path) -> bool:
        """Wait for a file written at this step, if it is one to wait at: the same for all runs of a group."""
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
