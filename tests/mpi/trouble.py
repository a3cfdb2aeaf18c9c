"""A plug-in that misbehaves on one rank, in every way a rank can."""

import os
import signal
import sys
import time
from typing import Literal

from mpi4py import MPI

from algorithms.dsgd import DSGD
from bench.algorithm import algorithm


@algorithm("trouble", sends=1, cite="nobody")
class Trouble(DSGD):
    how: Literal["none", "raise", "exit", "kill", "hang", "slow"] = "none"

    def step(self, s, t, grad, mix):
        if t == 10 and MPI.COMM_WORLD.rank == MPI.COMM_WORLD.size - 1:
            match self.how:
                case "raise":
                    raise ValueError("the last rank has had enough")
                case "exit":
                    sys.exit(3)
                case "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "hang":
                    time.sleep(1000)
        if self.how == "slow":
            time.sleep(0.05)
        return super().step(s, t, grad, mix)
