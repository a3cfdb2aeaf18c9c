"""A lock on each run, so that one process at a time computes it.

Locks of the operating system end with their process, and are used where they work. On file systems without working
locks, leases replace them. The first process decides for all hosts of a folder, since locks and leases do not exclude
each other.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakSet

from bench.base import preemption
from bench.base.errors import UserError
from bench.store.files import check_json
from bench.store.kinds import COUNT, NUMBER, TEXT, odd
from bench.store.leases import Lease
from bench.store.lock_kind import FLOCK, KIND, LEASES, UNKNOWN, decide, said, word
from bench.store.mounts import hidden_changes, mount_of, mounted_alone
from bench.store.regular import make_folder, no_link, opened

STATES = {"T": ", which is stopped", "Z": ", which is dead"}
"""Notes on a process, by its state in /proc."""
HOLDER = {"pid": COUNT, "host": TEXT, "since": NUMBER}
"""The content of a lock file."""
TRIES = 3
"""How often a process that tests locks may be killed or paused."""
TRIAL = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'a'), fcntl.LOCK_EX | fcntl.LOCK_NB)"


class Lock:
    """A lock that is held until it is released or its process ends."""

    def __init__(self, path: Path) -> None:
        self.path, self._leased = path, path.with_name(f"{path.name}.lease")
        self._stream: TextIOWrapper | None = None
        self._lease: Lease | None = None

    def take(self) -> bool:
        """Take the lock; False if another process holds it."""
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
        _taken.add(self)
        return True

    @property
    def taken(self) -> bool:
        """Whether this object has taken the lock and not released it."""
        return self._stream is not None or self._lease is not None

    @property
    def lost(self) -> bool:
        """Whether another process may hold the lock now: it took over the lease, the kind of locks changed, or the lock
        file was replaced."""
        if self._lease is not None:
            return self._lease.lost or word(self.path.parent) == FLOCK
        if self._stream is None:
            return False
        try:
            replaced = not os.path.samestat(os.lstat(self.path), os.fstat(self._stream.fileno()))
        except OSError:  # the file is missing or cannot be reached
            return True
        return replaced or word(self.path.parent) == LEASES

    def release(self) -> None:
        if self._stream is not None:
            with suppress(OSError):  # a child of this process may have the file open, which would keep the lock
                fcntl.flock(self._stream, fcntl.LOCK_UN)
            self._forget()
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def _forget(self) -> None:
        """Close the file; the lock stays if another process has it open."""
        stream, self._stream = self._stream, None
        if stream is not None:
            with suppress(OSError):  # such as a quota, of which NFS tells only here
                stream.close()
        _taken.discard(self)

    def held(self) -> bool:
        """Whether any process holds the lock."""
        try:
            kind = word(no_link(self.path.parent))
            if kind == LEASES:
                return Lease.fresh(self._leased)
            if kind == UNKNOWN or _mounted(self.path.parent):
                return True  # another host may hold it
            with open(opened(self.path)[0]) as lock:  # noqa: PTH123
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except (BlockingIOError, PermissionError):  # held, or it cannot be known
            return True
        except OSError:
            return False

    def owner(self) -> tuple[object, ...] | None:
        """Return the process id and the host of the last process that took the lock: empty if there is no file, None if
        it cannot be read."""
        if content := self._content():
            return content.get("pid"), content.get("host")
        return None if any(check_json(path, sealed=False)[1] for path in (self._leased, self.path)) else ()

    def _content(self) -> dict[str, Any]:
        return check_json(self._leased, sealed=False)[0] or check_json(self.path, sealed=False)[0]

    def holder(self) -> str:
        """process 123 on this machine, since 14:05:11"""
        content = self._content()
        if not HOLDER.keys() <= content.keys() or odd(content, HOLDER):
            return "another process"
        pid, host, since = (content[name] for name in HOLDER)
        try:
            style = "%H:%M:%S" if time.time() - since < 86400 else "%Y-%m-%d %H:%M"
            began = time.strftime(style, time.localtime(since))
        except (OverflowError, ValueError, OSError):  # no such year
            return "another process"
        here = host == platform.node()
        note = STATES.get(_letter(pid), "") if here else ""
        return f"process {pid} on {'this machine' if here else host}{note}, since {began}"


_taken = WeakSet[Lock]()


def _leave_to_parent() -> None:
    """Close the lock files in a forked child, so that the locks end with their process."""
    for lock in list(_taken):
        lock._forget()


os.register_at_fork(after_in_child=_leave_to_parent)


def untrusted(folder: Path) -> str | None:
    """Return why leases replace locks in this folder; None if locks are used.

    The first process decides for all hosts.

    Raises:
        UserError: The folder uses locks, which do not work on this host.
    """
    kind = said(folder, wait_s=0.0)
    if not kind:
        reason = _found_wanting(folder)
        kind = decide(folder, f"{LEASES} {reason}\n".encode() if reason else f"{FLOCK}\n".encode())
    first, _, reason = kind.partition(" ")
    remedy = f"Stop all runs in this folder, type: echo {LEASES} > '{folder / KIND}', and start again."
    if first == LEASES:
        if wrong := _outdated(folder):
            raise UserError(f"'{folder.parent}' cannot be shared: {wrong}. Mount it without this option.")
        return reason or f"{folder / KIND} says {LEASES}"
    if first != FLOCK:
        raise UserError(f"{folder / KIND} must say {FLOCK} or {LEASES}; got {first!r}. {remedy}")
    if reason := _found_wanting(folder):
        raise UserError(f"Runs in '{folder.parent}' use file locks, which do not work on this host: {reason}. {remedy}")
    return None


@cache
def _found_wanting(folder: Path) -> str | None:
    return _mounted(folder) or _trial(folder)


@cache
def _mounted(folder: Path) -> str | None:
    try:
        return mounted_alone(folder.resolve(), os.fsdecode(Path("/proc/self/mountinfo").read_bytes()))
    except OSError:  # not a Linux
        return None


@cache
def _outdated(folder: Path) -> str | None:
    """Return the option of sshfs, if it runs on this machine, that would hide changes of other hosts for long."""
    try:
        point = mount_of(folder.resolve(), os.fsdecode(Path("/proc/self/mountinfo").read_bytes())).point
    except OSError:  # not a Linux
        return None
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process has ended
            if found := hidden_changes(point, os.fsdecode(file.read_bytes()).split("\0")):
                return found
    return None


def _trial(folder: Path) -> str | None:
    """Test whether a lock excludes a second process."""
    path = folder / f".trial.{uuid4().hex}"  # containers may share the host name and the process id
    try:
        with open(opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)[0], "a") as stream:  # noqa: PTH123
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                return f"the file system rejects locks ({error.strerror})"
            command = [sys.executable, "-I", "-S", "-c", TRIAL, str(path)]
            for _ in range(TRIES):
                end = "did not end within 60 s"
                with suppress(subprocess.TimeoutExpired):  # both processes were paused
                    second = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
                    if b"BlockingIOError" in second.stderr:
                        return None
                    if not second.returncode:
                        return "two processes got the same lock"
                    end = f"ended with exit code {second.returncode}"
                if preemption.requested():  # queues send signals to all processes of a job
                    raise preemption.Preempted
            raise UserError(
                f"The file locks in '{folder.parent}' could not be tested: a second Python {end}. Repeat the command."
            )
    finally:
        path.unlink(missing_ok=True)


def _letter(pid: int) -> str:
    """Return the state of a process in /proc; empty if it is unknown."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
