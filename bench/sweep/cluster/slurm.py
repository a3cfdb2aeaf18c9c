"""SLURM, through its own commands: what is sent, and what has become of it. No torch here: everybody may ask."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.base.errors import UserError
from bench.base.home import ROOT

OVER = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "REVOKED", "TIMEOUT"}
"""The states of what will not run again."""
PATIENCE_S = 60
"""Seconds in which SLURM must have answered."""
SCRIPT = """#!/bin/bash
# A worker of the order beside this file, written by bench/submit.py.
{setup}
export HYDRA_LAUNCHER=fork  # mpiexec starts its ranks on this node by itself, and waits for no srun
export OPENBLAS_NUM_THREADS=${{OPENBLAS_NUM_THREADS:-$SLURM_CPUS_ON_NODE}}  # not every SLURM binds a job to its cores
time_is_up=
trap 'time_is_up=yes; kill -USR1 $worker' USR1  # from SLURM, to this shell alone
trap : TERM  # to every process of the job: the worker answers it
{command} &
worker=$!
while wait $worker; code=$?; kill -0 $worker 2>/dev/null; do :; done
if [ $time_is_up ] && [ $code -ge 128 ] && [ ${{SLURM_RESTART_COUNT:-0}} -lt {restarts} ]; then
  scontrol requeue $SLURM_JOB_ID
fi
exit $code
"""
"""It ends when its worker has, with its exit code; a worker that was told to leave is queued again."""


class NoQueue(UserError):
    """There is no SLURM to ask, or it does not answer."""


class NoSlurm(NoQueue):
    """There is none on this machine, or it has no configuration."""


@dataclass(frozen=True)
class Task:
    """One task of an array, as SLURM knows it."""

    job: str
    state: str
    reason: str  # why it waits

    @property
    def over(self) -> bool:
        return self.state in OVER


def script(order: Path, setup: Sequence[str], restarts: int) -> str:
    """What each worker of an order runs."""
    command = shlex.join([sys.executable, "-u", str(ROOT / "bench" / "submit.py"), "--work", str(order)])
    return SCRIPT.format(setup="\n".join(setup), command=command, restarts=restarts)


def options(folder: Path, workers: int, site: Iterable[str]) -> list[str]:
    """For sbatch: an array of workers, who start in this folder and write what they say into that of their order."""
    fixed = {
        "job-name": "hearsay",
        "array": f"0-{workers - 1}",
        "nodes": 1,
        "ntasks": 1,
        "open-mode": "append",  # a worker that is queued again writes on
        "output": f"{str(folder).replace('%', '%%')}/%A_%a.txt",  # in whose names % begins a word of SLURM's
        "chdir": Path.cwd(),
    }
    return ["--requeue", *(f"--{name}={value}" for name, value in fixed.items()), *site]


def submit(file: Path, asked: Sequence[str]) -> str:
    """Queue a script; the number of the job."""
    return _run(["sbatch", "--parsable", *asked, str(file)]).stdout.partition(";")[0].strip()


def expected(asked: Sequence[str]) -> str:
    """What SLURM says about such a job without queueing it: when it could start, and where."""
    return _run(["sbatch", "--test-only", *asked, "--wrap=true"]).stderr.strip().removeprefix("sbatch: ")


def tasks(jobs: Sequence[str]) -> list[Task]:
    """All tasks of these arrays that SLURM knows: also for some minutes after their end."""
    command = ["squeue", "--noheader", "--array", "--states=all", "--format=%F|%T|%r", f"--jobs={','.join(jobs)}"]
    try:
        said = _run(command).stdout
    except NoQueue as error:
        if "Invalid job id" in str(error):  # said where all of them have been forgotten
            return []
        raise
    return [Task(*line.split("|", 2)) for line in said.splitlines()]


def summary(found: Iterable[Task]) -> str:
    """2 running, 1 pending (Resources)"""
    counts = Counter((task.state, task.reason if task.state == "PENDING" else "") for task in found)
    words = [(count, state.lower().replace("_", " "), why) for (state, why), count in counts.most_common()]
    return ", ".join(f"{count} {state}{f' ({why})' if why not in ('', 'None') else ''}" for count, state, why in words)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A command of SLURM; its complaint is a sentence."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
    except FileNotFoundError:
        raise NoSlurm(
            f"There is no '{command[0]}' on this machine: is SLURM here, and on the PATH? bench/run.py does without."
        ) from None
    except subprocess.TimeoutExpired:
        raise NoQueue(f"SLURM's {command[0]} has not answered for {PATIENCE_S} s.") from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
        complaint = " ".join(line.removeprefix(f"{command[0]}: ").removeprefix("error: ") for line in lines)
        kind = NoSlurm if "configuration source" in complaint else NoQueue
        raise kind(f"SLURM's {command[0]} says: {complaint}")
    return done
