"""A plug-in that misbehaves on one rank, in every way a process can."""

import ctypes
import errno
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

from algorithms.dsgd import DSGD
from bench.engine.link import ADDRESS
from bench.method import algorithm


def on_the_last_rank() -> bool:
    from mpi4py import MPI  # here, or the runner would be a world too, and leave its own memory when killed

    return MPI.COMM_WORLD.rank == MPI.COMM_WORLD.size - 1


def note_segments(how: str) -> None:
    """Write down what this rank has in shared memory under names of MPI's, if somebody wants to know."""
    if folder := os.environ.get("HEARSAY_TEST_SEGMENTS"):
        lines = Path("/proc/self/maps").read_text().splitlines()
        names = {line.split()[5] for line in lines if "/dev/shm/mpich_shm_" in line}
        (Path(folder) / f"{how}-{len(list(Path(folder).glob(how + '-*')))}").write_text("\n".join(names))


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def the_link() -> int:
    """The connection to the runner, found as a program that mixes up its descriptors would."""
    port = int(os.environ[ADDRESS].rpartition(":")[2])
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError, IndexError):  # a socket of another family has no port
            end = socket.socket(fileno=os.dup(int(path.name)))
            if end.getpeername()[1] == port:
                return end.detach()
    raise AssertionError("no connection to the runner")


How = Literal[
    "none", "raise", "exit", "vanish", "kill", "behead", "babble", "hang", "rest", "slow", "ctrl_c", "recursion",
    "no_file", "no_server", "no_files_left", "no_memory", "no_locks", "shape", "segfault", "long_words",
]  # fmt: skip


@algorithm("trouble", vectors_per_step=1, cite="nobody")
class Trouble(DSGD):
    how: How = "none"

    def step(self, s, t, grad, mix):
        if t == 10 and on_the_last_rank():
            note_segments(self.how)
            misbehave(self.how, s)
        if t == 10 and self.how == "rest":
            time.sleep(1000)  # all ranks, so that none spins
        if self.how == "slow":
            time.sleep(0.05)
        return super().step(s, t, grad, mix)


def misbehave(how, state):
    match how:
        case "raise":
            raise ValueError("the last rank has had enough")
        case "exit":
            sys.exit(3)
        case "vanish":
            os._exit(0)
        case "behead":
            os.kill(parent(os.getppid()), signal.SIGKILL)  # mpiexec, above the proxy that started us
            time.sleep(1000)
        case "babble":
            os.write(the_link(), b"\xff{nonsense\n")
            time.sleep(1000)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(1000)
        case "ctrl_c":
            raise KeyboardInterrupt
        case "recursion":
            misbehave(how, state)
        case "no_file":
            open("a file of mine")  # noqa: PTH123, SIM115
        case "no_server":
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        case "no_files_left":
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        case "no_locks":
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        case "no_memory":
            raise MemoryError("of all sizes")
        case "shape":
            state.x[:, :, :1] @ state.x
        case "segfault":
            ctypes.string_at(0)
        case "long_words":
            raise ValueError("word " * 20_000)
