"""A plug-in that misbehaves on one rank, in every way a process can."""

import ctypes
import errno
import os
import signal
import sys
import time
from typing import Literal

from mpi4py import MPI

from algorithms.dsgd import DSGD
from bench.algorithm import algorithm

How = Literal[
    "none", "raise", "exit", "leave", "kill", "hang", "slow", "ctrl_c", "recursion", "no_file", "no_server",
    "no_files_left",     "no_memory", "shape", "segfault", "long_words", "no_locks",
]  # fmt: skip


@algorithm("trouble", sends=1, cite="nobody")
class Trouble(DSGD):
    how: How = "none"

    def step(self, s, t, grad, mix):
        if t == 10 and MPI.COMM_WORLD.rank == MPI.COMM_WORLD.size - 1:
            misbehave(self.how, s)
        if self.how == "slow":
            time.sleep(0.05)
        return super().step(s, t, grad, mix)


def misbehave(how, state):
    match how:
        case "raise":
            raise ValueError("the last rank has had enough")
        case "exit":
            sys.exit(3)
        case "leave":
            os._exit(0)
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
