"""One process at a time: a lock on a file, which says who holds it and since when.

The system's own locks end with their process, and are used where they can be trusted. Where a file system has none, or
only pretends to, a lease takes their place: a file that whoever holds it keeps changing. The first process decides for
all hosts of a folder: two kinds of claims would not notice each other.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from io import TextIOWrapper
from pathlib import Path

from bench.base.errors import UserError
from bench.store.files import check_json
from bench.store.kinds import COUNT, NUMBER, TEXT, odd
from bench.store.leases import Lease, create
from bench.store.regular import content_of, make_folder, no_link, opened

STATES = {"T": ", which is stopped", "Z": ", which is dead"}
"""What is worth saying of a process, by the letter that Linux has for it."""
ALONE = {
    "nfs": {"nolock", "local_lock=all", "local_lock=flock"},
    "nfs4": {"local_lock=all", "local_lock=flock"},
    "lustre": {"localflock"},
    "cifs": {"nobrl"},
    "smb3": {"nobrl"},
    **{kind: {""} for kind in ("beegfs", "fuse.gcsfuse", "fuse.rclone", "fuse.s3fs", "fuse.sshfs")},
}
"""By the kind of file system, how it is mounted where a lock is one among the processes of one machine only; "": in
every way. BeeGFS keeps locks to itself unless its own settings say otherwise, the others do not know of any."""
HOLDER = {"pid": COUNT, "host": TEXT, "since": NUMBER}
"""What a lock says of who has it."""
TRIAL = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'a'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
KIND = "kind"
"""A file in a folder of locks, which the first process makes: how runs are claimed there, by all hosts;"""
FLOCK, LEASES, UNKNOWN = "flock", "leases", ""
"""what it says, the second with a reason."""
WRITTEN_S = 5.0
"""Seconds after which whoever has made the file has also written it."""


class Lock:
    """Held until released, or until this process ends."""

    def __init__(self, path: Path) -> None:
        self.path, self._leased = path, path.with_name(f"{path.name}.lease")
        self._stream: TextIOWrapper | None = None
        self._lease: Lease | None = None

    def take(self) -> bool:
        """Ours from now on; False where another process has it."""
        if self._stream is not None or (self._lease is not None and not self._lease.lost):
            return True
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
        """Whether another process may have what was ours: it believes this one dead, the folder has the other kind of
        claims now, or the lock's file was replaced."""
        if self._lease is not None:
            return self._lease.lost or _word(self.path.parent) == FLOCK
        if self._stream is None:
            return False
        try:
            replaced = not os.path.samestat(os.lstat(self.path), os.fstat(self._stream.fileno()))
        except FileNotFoundError:
            return True
        return replaced or _word(self.path.parent) == LEASES

    def release(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def held(self) -> bool:
        """Whether a process has it, this one or another."""
        try:
            kind = _word(no_link(self.path.parent))
            if kind == LEASES:
                return Lease.fresh(self._leased)
            if kind == UNKNOWN or _mounted(self.path.parent):
                return True  # by another host, for all that can be known here
            with open(opened(self.path)[0]) as lock:  # noqa: PTH123
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        except OSError:
            return False

    def holder(self) -> str:
        """process 123 on this machine, since 14:05:11"""
        said = check_json(self._leased, sealed=False)[0] or check_json(self.path, sealed=False)[0]
        if not HOLDER.keys() <= said.keys() or odd(said, HOLDER):
            return "another process"
        here, day = (
            said["host"] == platform.node(),
            "%H:%M:%S" if time.time() - said["since"] < 86400 else "%Y-%m-%d %H:%M",
        )
        try:
            since = time.strftime(day, time.localtime(said["since"]))
        except (OverflowError, ValueError, OSError):  # no such year
            return "another process"
        how = STATES.get(_letter(said["pid"]), "") if here else ""
        return f"process {said['pid']} on {'this machine' if here else said['host']}{how}, since {since}"


def untrusted(folder: Path) -> str | None:
    """Why leases take the place of the system's locks in this folder; None where they do not.

    Decided once, for all hosts, by the first process that asks. UserError where this host cannot keep to it.
    """
    kind = _said(folder)
    if kind is None:
        reason = _found_wanting(folder)
        create(folder / KIND, f"{LEASES} {reason}\n".encode() if reason else f"{FLOCK}\n".encode())
        kind = _said(folder)
    word, _, reason = (kind or "").partition(" ")
    remedy = f"End all runs on this folder, type: echo {LEASES} > '{folder / KIND}', and start again."
    if word == LEASES:
        return reason or f"{folder / KIND} says {LEASES}"
    if word != FLOCK:
        raise UserError(f"{folder / KIND} must say {FLOCK} or {LEASES}; got {word!r}. {remedy}")
    if reason := _found_wanting(folder):
        raise UserError(
            f"Runs in '{folder.parent}' are claimed by file locks, and on this host file locks cannot be trusted: "
            f"{reason}. {remedy}"
        )
    return None


def _said(folder: Path, wait_s: float = WRITTEN_S) -> str | None:
    """How runs are claimed in this folder; None where that is not decided, nothing where it is still being written."""
    deadline = time.monotonic() + wait_s
    with suppress(FileNotFoundError):
        while not (text := content_of(folder / KIND).decode(errors="replace").strip()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return text
    return None


def _word(folder: Path) -> str | None:
    """What the file says now, for those who only look: its first word, UNKNOWN where it cannot be read."""
    try:
        kind = _said(folder, wait_s=0.0)
    except OSError:
        return UNKNOWN
    return kind if kind is None else kind.partition(" ")[0]


@cache
def _found_wanting(folder: Path) -> str | None:
    return _mounted(folder) or _trial(folder)


@cache
def _mounted(folder: Path) -> str | None:
    try:
        return mounted_alone(folder.resolve(), os.fsdecode(Path("/proc/self/mountinfo").read_bytes()))
    except OSError:  # not a Linux
        return None


def _trial(folder: Path) -> str | None:
    """A second process must not get what the first has."""
    path = folder / f".trial.{platform.node()}.{os.getpid()}"
    try:
        with open(opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)[0], "a") as stream:  # noqa: PTH123
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
    for line in filter(None, mountinfo.split("\n")):
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)  # what is mounted may have no name, and names any other character
        point, how = before.split(" ")[4:6]
        point = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), point)
        mounts[Path(point)] = kind, {*options.split(","), *how.split(",")}
    for parent in (place, *place.parents):
        if parent in mounts:
            kind, said = mounts[parent]
            hindering = ALONE.get(kind, set()) & {*said, ""}
            how = f"is mounted with {min(hindering)}" if any(hindering) else "keeps them to one machine"
            return f"{kind} {how}" if hindering else None
    return None


def _letter(pid: int) -> str:
    """How the process is, in Linux's letters; nothing where that cannot be known."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
