"""The kind of locks of a results folder, in a file that the first process creates for all hosts.

With hard links, the file never lacks its content. Without them, a process that is killed can leave it empty, and one of
the next processes writes it again.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from bench.store import leases
from bench.store.regular import content_of, write_bytes

KIND = "kind"
"""The name of the file, in the folder of the locks."""
FLOCK, LEASES, UNKNOWN = "flock", "leases", ""
"""The kinds. After ``leases`` comes a reason."""
WRITTEN_S = 5.0
"""Maximal seconds between the creation of the file and its first content."""


def said(folder: Path, wait_s: float = WRITTEN_S) -> str | None:
    """Return the kind of locks of a folder, with its reason; None if there is no file, empty if it has no content."""
    deadline = time.monotonic() + wait_s
    with suppress(FileNotFoundError):
        while not (text := content_of(folder / KIND).decode(errors="replace").strip()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return text
    return None


def word(folder: Path) -> str | None:
    """Return the kind without its reason and without waiting; None if not decided, UNKNOWN if it cannot be read."""
    try:
        kind = said(folder, wait_s=0.0)
    except OSError:
        return UNKNOWN
    return kind.partition(" ")[0] if kind else None


def decide(folder: Path, content: bytes) -> str:
    """Write this kind unless another process has decided; return the kind that all hosts use."""
    if said(folder, wait_s=0.0) is None:
        _publish(folder / KIND, content)
    kind, deadline = said(folder), time.monotonic() + 2 * leases.DEAD_S
    while not kind and time.monotonic() < deadline:  # its creator was killed, or the machine lost power
        if permission := leases.Lease.take(folder / f".{KIND}"):  # one process at a time
            try:
                if not said(folder, wait_s=0.0):
                    write_bytes(folder / KIND, content, lasting=True)
            finally:
                permission.release()
        kind = said(folder, WRITTEN_S / 10)
    return kind or ""


def _publish(path: Path, content: bytes) -> None:
    """Create a file with its content at once, if it does not exist."""
    draft = path.with_name(f".{path.name}.{uuid4().hex}")  # containers may share the host name and the process id
    try:
        try:
            write_bytes(draft, content, lasting=True)
            os.link(draft, path)
        except OSError:  # the file exists, the disk is full, or the file system has no hard links
            leases.create(path, content)
    finally:
        draft.unlink(missing_ok=True)
