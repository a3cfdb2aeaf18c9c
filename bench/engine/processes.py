"""Processes identified by machine, number and start time: systems reuse process numbers."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROC = Path("/proc")


@cache
def here() -> str:
    """Identify this machine since its last boot, and the PID namespace of this process."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()} {boot} {(PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


@dataclass(frozen=True)
class Process:
    """One process, identified uniquely."""

    place: str
    pid: int
    started: int  # clock ticks after boot

    @classmethod
    def own(cls) -> Process:
        return cls(here(), os.getpid(), _started(os.getpid()) or 0)

    @property
    def alive(self) -> bool:
        """Whether it runs on this machine; False for processes of other machines."""
        return self.place == here() and _started(self.pid) == self.started

    def kill(self) -> None:
        """Kill it if it is on this machine and its number has not passed to another process."""
        if not self.alive:
            return
        with suppress(ProcessLookupError, PermissionError):
            try:
                handle = os.pidfd_open(self.pid)
            except OSError:  # a kernel before 5.3: the number could pass to another process before the kill
                os.kill(self.pid, signal.SIGKILL)
                return
            try:
                if self.alive:  # the handle refers to this process from here on
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)


def marked(mark: str) -> set[Process]:
    """Return the processes on this machine that have ``mark`` in their environment."""
    out = set()
    for folder in PROC.iterdir() if PROC.is_dir() else ():
        if folder.name.isdigit():
            with suppress(OSError):  # the process has ended or belongs to another user
                if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    pid = int(folder.name)
                    out.add(Process(here(), pid, _started(pid) or 0))
    return out


def end(processes: Collection[Process], timeout: float) -> None:
    """Wait ``timeout`` seconds for processes to exit, kill the others, and wait until they are gone."""
    for seconds in (timeout, 2.0):
        deadline = time.monotonic() + seconds
        while any(process.alive for process in processes) and time.monotonic() < deadline:
            time.sleep(0.02)
        for process in processes:
            process.kill()


def _started(pid: int) -> int | None:
    """Return the start time of a process; None if it does not exist or is a zombie."""
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in b"ZX" else int(fields[19])
