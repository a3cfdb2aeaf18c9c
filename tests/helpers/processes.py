"""Finding processes that a test has started, by a mark in their environment."""

from __future__ import annotations

import os
import time
from pathlib import Path

MARK = "HEARSAY_TEST_MARK"


def marked(mark: str, word: str = "") -> list[int]:
    """Ids of the processes with this mark whose command line holds ``word``."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            environment = (folder / "environ").read_bytes()
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environment and word.encode() in command:
            found.append(int(folder.name))
    return found


def gone(mark: str, patience: float = 5.0) -> bool:
    """Whether all processes with this mark end within ``patience`` seconds."""
    deadline = time.monotonic() + patience
    while marked(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
