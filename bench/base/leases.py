"""A lock where the file system has none: a file that only one process can create, and that it keeps changing.

Whoever has seen it unchanged for long enough takes it over. No two clocks are compared: a beat is a number that grows.
"""

from __future__ import annotations

import os
import platform
import threading
import time
import uuid
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.base.files import read_json, write_json

BEAT_S = 5.0
"""Seconds between two beats,"""
DEAD_S = 60.0
"""and without one, after which the holder is taken for dead."""
_seen: dict[Path, tuple[Any, float]] = {}
"""Of leases that others hold: the latest beat, and when it was first seen."""
_held: weakref.WeakSet[Lease] = weakref.WeakSet()
_beating = threading.Lock()


class Lease:
    """One that this process holds."""

    def __init__(self, path: Path) -> None:
        self._path, self._name, self._beat = path, uuid.uuid4().hex, 0
        self._since, self.lost = time.time(), False

    @classmethod
    def take(cls, path: Path) -> Lease | None:
        """Ours from now on; None where another process has it, or has not been silent for long enough."""
        lease = cls(path)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            if cls.fresh(path) or not lease._inherits():
                return None
        lease._write()
        _seen.pop(path, None)
        with _beating:
            _held.add(lease)
            if len(_held) == 1 or not any(thread.name == "leases" for thread in threading.enumerate()):
                threading.Thread(target=_beat, name="leases", daemon=True).start()
        return lease

    @staticmethod
    def fresh(path: Path) -> bool:
        """Whether the lease is there and may be alive: its beat has not been the same for long enough."""
        if not os.path.lexists(path):  # a link to nothing is there, too
            return False
        said = read_json(path)
        beat = said.get("name"), said.get("beat")
        before, since = _seen.setdefault(path, (beat, time.monotonic()))
        if before != beat:
            _seen[path] = beat, time.monotonic()
            return True
        return time.monotonic() - since < DEAD_S

    def _inherits(self) -> bool:
        """Take over from the dead: of all who want to, only one moves the old lease away and finds it as it was."""
        dead = _seen[self._path][0]
        aside = self._path.with_name(f".{self._path.name}.{self._name}")
        try:
            self._path.rename(aside)
        except FileNotFoundError:
            return False
        said = read_json(aside)
        if (said.get("name"), said.get("beat")) != dead:  # another was faster, and this is his
            with suppress(FileExistsError):
                os.link(aside, self._path)
            aside.unlink()
            return False
        aside.unlink()
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            return False
        return True

    def beat(self) -> None:
        if read_json(self._path).get("name") != self._name:
            self.lost = True
        if not self.lost:
            self._beat += 1
            self._write()

    def _write(self) -> None:
        who = {"pid": os.getpid(), "host": platform.node(), "since": self._since}
        write_json(self._path, {**who, "name": self._name, "beat": self._beat})

    def release(self) -> None:
        with _beating:
            _held.discard(self)
            if not self.lost and read_json(self._path).get("name") == self._name:
                self._path.unlink(missing_ok=True)


def _beat() -> None:
    while True:
        time.sleep(BEAT_S)
        with _beating:
            if not _held:
                return
            for lease in list(_held):
                with suppress(OSError):  # a disk that is full for a moment
                    lease.beat()
