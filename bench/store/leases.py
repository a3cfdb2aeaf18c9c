"""A lock where the file system has none: a file that only one process can create, and that it keeps changing.

Whoever has seen it unchanged for long enough takes it over. No two clocks are compared: a beat is a number that grows.
Only exclusive creation and atomic renaming are asked of the file system, no hard links; and no size of a file that
somebody reads ever changes, since sshfs remembers sizes for seconds.
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
"""Seconds between two beats,"""
DEAD_S = 60.0
"""and without one, after which the holder is taken for dead."""
SIZE = 512
"""Bytes of a lease."""
_seen: dict[Path, tuple[Any, float]] = {}
"""Of leases that others hold: the latest beat, and when it was first seen."""
_held: weakref.WeakSet[Lease] = weakref.WeakSet()
_beats: set[int] = set()
"""The process whose thread beats, if one does."""
_beating = threading.Lock()


class Lease:
    """One that this process holds."""

    def __init__(self, path: Path) -> None:
        self._path, self._name, self._beat = path, uuid.uuid4().hex, 0
        self._since, self._gone = time.time(), False

    @classmethod
    def take(cls, path: Path) -> Lease | None:
        """Ours from now on; None where another process has it, or has not been silent for long enough."""
        lease = cls(path)
        if not create(path, lease._content()) and (cls.fresh(path) or not lease._inherits()):
            return None
        _seen.pop(path, None)
        with _beating:
            _held.add(lease)
            if os.getpid() not in _beats:
                _beats.clear()  # a fork has no threads of its parent
                _beats.add(os.getpid())
                threading.Thread(target=_beat, name="leases", daemon=True).start()
        return lease

    @staticmethod
    def fresh(path: Path) -> bool:
        """Whether the lease is there and may be alive: its beat has not been the same for long enough."""
        beat = _beat_at(path)
        if beat is None:
            return False
        before, since = _seen.setdefault(path, (beat, time.monotonic()))
        if before != beat:
            _seen[path] = beat, time.monotonic()
            return True
        return time.monotonic() - since < DEAD_S

    def _inherits(self) -> bool:
        """Take over from the dead: of all who want to, only one at a time may, and only while the dead one's is there.

        The permission is a lease, too, so that an heir who dies with it has an heir.
        """
        dead, _ = _seen.get(self._path, (None, 0.0))
        if dead is None:  # it has been released just now
            return False
        permission = Lease.take(self._path.with_name(f".{dead[0] or self._path.name}"))
        if permission is None:
            return False
        try:
            if _beat_at(self._path) != dead:
                return False
            write_bytes(self._path, self._content())  # in a new file: the dead, should it wake, changes its own
            return True
        finally:
            permission.release()

    @property
    def lost(self) -> bool:
        """Whether another process has taken it, believing this one dead: asked of the file whenever it matters."""
        if not self._gone:
            said, wrong = check_json(self._path, sealed=False)
            self._gone = wrong is None and said.get("name") != self._name
        return self._gone

    def beat(self) -> None:
        """Change the file in which our name stands, never the one that an heir has put in its place meanwhile."""
        with open(opened(self._path, os.O_RDWR)[0], "r+b", buffering=0) as file:  # noqa: PTH123
            said = json.loads(file.read(SIZE) or b"{}")
            if isinstance(said, dict) and said.get("name") == self._name:
                self._beat += 1
                file.seek(0)
                file.write(self._content())

    def _content(self) -> bytes:
        who = {"pid": os.getpid(), "host": platform.node(), "since": self._since}
        return json.dumps({**who, "name": self._name, "beat": self._beat}).encode().ljust(SIZE)

    def release(self) -> None:
        with _beating, suppress(OSError):  # where it cannot be removed, it ends as that of the dead
            _held.discard(self)
            if not self.lost:
                self._path.unlink(missing_ok=True)


def create(path: Path, content: bytes) -> bool:
    """Make a file that is not there; False where another process has made it."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except OSError as error:  # not always FileExistsError: sshfs has no word for it
        if isinstance(error, FileExistsError) or os.path.lexists(path):  # a link is there, too, wherever it points
            return False
        raise
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.write(content)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return True


def _beat_at(path: Path) -> tuple[Any, Any] | None:
    """Whose beat a lease has, and which; None where there is no lease."""
    said, wrong = check_json(path, sealed=False)
    name, beat = said.get("name"), said.get("beat")
    good = isinstance(name, str) and name.isalnum() and len(name) <= 32 and isinstance(beat, int)  # else: anything
    return None if not said and wrong is None else (name, beat) if good else (None, None)


def _beat() -> None:
    while True:
        time.sleep(BEAT_S)
        with _beating:
            if not _held:
                _beats.clear()
                return
            for lease in list(_held):
                with suppress(OSError, ValueError):  # a disk that is full, or a network that is away, for a moment
                    lease.beat()
