"""Processes by more than their number: numbers are used again, and other machines use them too."""

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
    """This machine since it was last started, and the numbering of processes that this one belongs to."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()} {boot} {(PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


@dataclass(frozen=True)
class Process:
    """One process, which no other can be mistaken for."""

    place: str
    pid: int
    started: int  # clock ticks after the machine

    @classmethod
    def own(cls) -> Process:
        return cls(here(), os.getpid(), _started(os.getpid()) or 0)

    @property
    def alive(self) -> bool:
        """Whether it runs on this machine; of others nothing is known."""
        return self.place == here() and _started(self.pid) == self.started

    def kill(self) -> None:
        """End it, if it is on this machine and the number is still its own."""
        if not self.alive:
            return
        with suppress(ProcessLookupError, PermissionError):
            try:
                handle = os.pidfd_open(self.pid)
            except OSError:  # an old system: the number could pass to another between the look and the kill
                os.kill(self.pid, signal.SIGKILL)
                return
            try:
                if self.alive:  # and from here on it cannot
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)


def marked(mark: str) -> set[Process]:
    """Processes on this machine that were started with ``mark`` in their environment."""
    out = set()
    for folder in PROC.iterdir() if PROC.is_dir() else ():
        if folder.name.isdigit():
            with suppress(OSError):  # ended meanwhile, or another user's
                if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    pid = int(folder.name)
                    out.add(Process(here(), pid, _started(pid) or 0))
    return out


def end(processes: Collection[Process], patience: float) -> None:
    """Leave them ``patience`` seconds to end by themselves, then kill them, and wait until they are gone."""
    deadline = time.monotonic() + patience
    while any(process.alive for process in processes) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in processes:
        process.kill()
    deadline = time.monotonic() + 2.0
    while any(process.alive for process in processes) and time.monotonic() < deadline:
        time.sleep(0.02)


def _started(pid: int) -> int | None:
    """When the process started; None where there is none, or only what its parent has not taken note of."""
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in b"ZX" else int(fields[19])
