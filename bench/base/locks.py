"""One process at a time: a lock on a file, which says who holds it and since when.

The system's own locks end with their process, and are used where they can be trusted. Where a file system has none, or
only pretends to, a lease takes their place: a file that whoever holds it keeps changing.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import subprocess
import sys
import time
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from bench.base.files import read_json, write_text
from bench.base.leases import Lease
from bench.base.regular import content_of, make_folder, opened

STATES = {"T": ", which is stopped", "Z": ", which is dead"}
"""What is worth saying of a process, by the letter that Linux has for it."""
ALONE = {
    "nfs": {"nolock", "local_lock=all", "local_lock=flock"},
    "nfs4": {"local_lock=all", "local_lock=flock"},
    "lustre": {"localflock"},
}
"""By the kind of file system, how it is mounted where a lock is one among the processes of one machine only."""
TRIAL = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'a'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
LEASES = "leases"
"""A file in a folder of locks: whoever finds it uses leases, as the one did who had to."""


class Lock:
    """Held until released, or until this process ends."""

    def __init__(self, path: Path) -> None:
        self.path, self._leased = path, path.with_name(f"{path.name}.lease")
        self._stream: TextIOWrapper | None = None
        self._lease: Lease | None = None

    def take(self) -> bool:
        """Ours from now on; False where another process has it."""
        make_folder(self.path.parent, parents=True)
        if untrusted(self.path.parent):
            self._lease = Lease.take(self._leased)
            return self._lease is not None
        stream = open(opened(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)[0], "a")  # noqa: PTH123, SIM115
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.close()
            return False
        except OSError:
            stream.close()
            raise
        stream.truncate(0)
        stream.write(json.dumps({"pid": os.getpid(), "host": platform.node(), "since": time.time()}))
        stream.flush()
        self._stream = stream
        return True

    @property
    def lost(self) -> bool:
        """Whether another process has taken what was ours, believing this one dead."""
        return self._lease is not None and self._lease.lost

    def release(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def held(self) -> bool:
        """Whether a process has it, this one or another."""
        if (self.path.parent / LEASES).exists():
            return Lease.fresh(self._leased)
        try:
            with open(opened(self.path)[0]) as lock:  # noqa: PTH123
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        except OSError:
            return False

    def holder(self) -> str:
        """process 123 on this machine, since 14:05:11"""
        said: dict[str, Any] = read_json(self._leased) or read_json(self.path)
        if "pid" not in said:
            return "another process"
        here = said["host"] == platform.node()
        since = time.strftime(
            "%H:%M:%S" if time.time() - said["since"] < 86400 else "%Y-%m-%d %H:%M", time.localtime(said["since"])
        )
        how = STATES.get(_letter(said["pid"]), "") if here else ""
        return f"process {said['pid']} on {'this machine' if here else said['host']}{how}, since {since}"


def untrusted(folder: Path) -> str | None:
    """Why the system's locks on files in this folder cannot be trusted; None where they can: tried, not believed."""
    mark = folder / LEASES
    try:
        return content_of(mark).decode(errors="replace").strip()
    except FileNotFoundError:
        reason = _found_wanting(folder)
    if reason:
        write_text(mark, f"{reason}\n")
    return reason


@cache
def _found_wanting(folder: Path) -> str | None:
    try:
        mounts = Path("/proc/self/mountinfo").read_text()
    except OSError:  # not a Linux
        mounts = ""
    return mounted_alone(folder.resolve(), mounts) or _trial(folder)


def _trial(folder: Path) -> str | None:
    """A second process must not get what the first has."""
    path = folder / f".trial.{platform.node()}.{os.getpid()}"
    try:
        with open(opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)[0], "a") as stream:  # noqa: PTH123
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                return f"the file system refuses them ({error.strerror})"
            command = [sys.executable, "-I", "-S", "-c", TRIAL, str(path)]
            second = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
            return None if b"BlockingIOError" in second.stderr else "two processes were given the same one"
    finally:
        path.unlink(missing_ok=True)


def mounted_alone(place: Path, mountinfo: str) -> str | None:
    """What a mount says of itself: locks that hold among the processes of one machine, and that no trial here finds."""
    mounts: dict[Path, tuple[str, set[str]]] = {}
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(maxsplit=2)
        point = Path(before.split()[4].encode().decode("unicode_escape"))
        mounts[point] = kind, {*options.split(","), *before.split()[5].split(",")}
    for parent in (place, *place.parents):
        if parent in mounts:
            kind, said = mounts[parent]
            hindering = ALONE.get(kind, set()) & said
            return f"{kind} is mounted with {min(hindering)}" if hindering else None
    return None


def _letter(pid: int) -> str:
    """How the process is, in Linux's letters; nothing where that cannot be known."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
