"""Leases replace locks on file systems without locks: files that one process creates and keeps changing.

A process that sees a lease unchanged for ``DEAD_S`` takes it over. The beat is a counter, so no clocks of two hosts are
compared. The file system needs exclusive creation and atomic renaming, but no hard links. The size of a lease never
changes, since sshfs caches sizes for seconds.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import time
import uuid
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.store.files import check_json
from bench.store.regular import opened, write_bytes

BEAT_S = 5.0
"""Seconds between two beats."""
DEAD_S = 60.0
"""Seconds without a beat after which the holder counts as dead."""
SIZE = 512
"""Size of a lease in bytes."""
MOST_DEAD = 3
"""Processes that may die one after the other while they take over a lease; a forged chain or cycle may be endless."""
_seen: dict[Path, tuple[Any, float]] = {}
"""For leases of other processes: the latest beat, and when it was first seen."""
_held: weakref.WeakSet[Lease] = weakref.WeakSet()
_beats: set[threading.Thread] = set()
"""The thread that beats, if any."""
_beating = threading.Lock()


class Lease:
    """A lease that this process holds."""

    def __init__(self, path: Path) -> None:
        self._path, self._name, self._beat = path, uuid.uuid4().hex, 0
        self._since, self._gone = time.time(), False

    @classmethod
    def take(cls, path: Path, depth: int = 0) -> Lease | None:
        """Take the lease; None if another process holds it and may be alive. A permission has a ``depth`` above 0."""
        lease = cls(path)
        if not create(path, lease._content()) and (cls.fresh(path) or not lease._inherits(depth)):
            return None
        _seen.pop(path, None)
        with _beating:
            _held.add(lease)
            if not any(thread.is_alive() for thread in _beats):  # a fork does not inherit threads
                _beats.clear()
                _beats.add(thread := threading.Thread(target=_beat, name="leases", daemon=True))
                thread.start()
        return lease

    @staticmethod
    def fresh(path: Path) -> bool:
        """Whether the lease exists and its holder may be alive."""
        beat = _beat_at(path)
        if beat is None:
            return False
        before, since = _seen.setdefault(path, (beat, time.monotonic()))
        if before != beat:
            _seen[path] = beat, time.monotonic()
            return True
        return time.monotonic() - since < DEAD_S

    def _inherits(self, depth: int) -> bool:
        """Take over the lease of a dead process, one process at a time and only if the lease is unchanged.

        The permission to do so is a lease itself, so that another process can continue if its holder dies. If
        permissions form a forged chain, the last one that is followed is deleted, and the next attempt creates it.
        """
        dead, _ = _seen.get(self._path, (None, 0.0))
        if dead is None:  # released in the meantime
            return False
        if depth == MOST_DEAD:
            if _beat_at(self._path) == dead:
                self._path.unlink(missing_ok=True)
            return False
        permission = Lease.take(self._path.with_name(f".{dead[0] or self._path.name}"), depth + 1)
        if permission is None:
            return False
        try:
            if _beat_at(self._path) != dead or permission.lost:
                return False
            write_bytes(
                self._path, self._content()
            )  # a new file: should the old holder wake up, it changes its own file
            return True
        finally:
            permission.release()

    @property
    def lost(self) -> bool:
        """Whether another process has taken over the lease; reads the file each time."""
        if not self._gone:
            content, wrong = check_json(self._path, sealed=False)
            self._gone = wrong is None and content.get("name") != self._name
        return self._gone

    def beat(self) -> None:
        """Increment the beat in our file, but never in a file by which another process has replaced it."""
        with open(opened(self._path, os.O_RDWR)[0], "r+b", buffering=0) as file:  # noqa: PTH123
            content = json.loads(file.read(SIZE) or b"{}")
            if isinstance(content, dict) and content.get("name") == self._name:
                self._beat += 1
                file.seek(0)
                file.write(self._content())

    def _content(self) -> bytes:
        who = {"pid": os.getpid(), "host": platform.node(), "since": self._since}
        return json.dumps({**who, "name": self._name, "beat": self._beat}).encode().ljust(SIZE)

    def release(self) -> None:
        with _beating, suppress(OSError):  # a lease that cannot be deleted ends after DEAD_S
            _held.discard(self)
            if not self.lost:
                self._path.unlink(missing_ok=True)


def create(path: Path, content: bytes) -> bool:
    """Create a file; False if it exists."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except OSError as error:  # sshfs does not raise FileExistsError
        if isinstance(error, FileExistsError) or os.path.lexists(path):  # also a link without a target
            return False
        raise
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.write(content)
    except OSError as error:  # a full disk raises one without a name
        path.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
    return True


def _beat_at(path: Path) -> tuple[Any, Any] | None:
    """Return the holder and the beat of a lease, both None if it is malformed; None if there is no lease."""
    content, wrong = check_json(path, sealed=False)
    if not content and wrong is None:
        return None
    name, beat = content.get("name"), content.get("beat")
    valid = isinstance(name, str) and name.isalnum() and len(name) <= 32 and isinstance(beat, int)
    return (name, beat) if valid else (None, None)


def _beat() -> None:
    while True:
        time.sleep(BEAT_S)
        with _beating:
            if not _held:
                _beats.clear()
                return
            for lease in list(_held):
                with suppress(Exception):  # the disk may be full, or the network down, for a moment
                    lease.beat()
