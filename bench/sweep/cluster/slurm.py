"""Submit jobs to SLURM and query them, with its own commands. Imports no torch."""

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
"""The states of tasks that will not run again."""
PATIENCE_S = 60
"""Seconds that a SLURM command may take."""
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
"""The script ends with the exit code of its worker. A worker that reached its time limit is queued again."""


class NoQueue(UserError):
    """SLURM is missing or does not answer."""


class NoSlurm(NoQueue):
    """This machine has no SLURM, or no configuration of it."""


@dataclass(frozen=True)
class Task:
    """One task of a job array."""

    job: str
    state: str
    reason: str  # why it is pending

    @property
    def over(self) -> bool:
        return self.state in OVER


def script(order: Path, setup: Sequence[str], restarts: int) -> str:
    """Return the job script of the workers of an order."""
    command = shlex.join([sys.executable, "-u", str(ROOT / "bench" / "submit.py"), "--work", str(order)])
    return SCRIPT.format(setup="\n".join(setup), command=command, restarts=restarts)


def options(folder: Path, workers: int, site: Iterable[str]) -> list[str]:
    """Return the options of sbatch for an array of workers, whose output goes to the folder of the order."""
    fixed = {
        "job-name": "hearsay",
        "array": f"0-{workers - 1}",
        "nodes": 1,
        "ntasks": 1,
        "open-mode": "append",  # for a worker that is queued again
        "output": f"{str(folder).replace('%', '%%')}/%A_%a.txt",  # SLURM replaces % patterns
        "chdir": Path.cwd(),
    }
    return ["--requeue", *(f"--{name}={value}" for name, value in fixed.items()), *site]


def submit(file: Path, options: Sequence[str]) -> str:
    """Submit a script; returns the number of the job."""
    return _run(["sbatch", "--parsable", *options, str(file)]).stdout.partition(";")[0].strip()


def expected(options: Sequence[str]) -> str:
    """Return SLURM's estimate of when and where such a job would start, without submitting it."""
    return _run(["sbatch", "--test-only", *options, "--wrap=true"]).stderr.strip().removeprefix("sbatch: ")


def tasks(jobs: Sequence[str]) -> list[Task]:
    """Return the tasks of these job arrays. SLURM also lists tasks that ended some minutes ago."""
    command = ["squeue", "--noheader", "--array", "--states=all", "--format=%F|%T|%r", f"--jobs={','.join(jobs)}"]
    try:
        output = _run(command).stdout
    except NoQueue as error:
        if "Invalid job id" in str(error):  # SLURM no longer knows any of them
            return []
        raise
    return [Task(*line.split("|", 2)) for line in output.splitlines()]


def summary(found: Iterable[Task]) -> str:
    """Return a text such as 2 running, 1 pending (Resources)."""
    counts = Counter((task.state, task.reason if task.state == "PENDING" else "") for task in found)
    words = [(count, state.lower().replace("_", " "), why) for (state, why), count in counts.most_common()]
    return ", ".join(f"{count} {state}{f' ({why})' if why not in ('', 'None') else ''}" for count, state, why in words)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a SLURM command; NoQueue with its error message if it fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
    except FileNotFoundError:
        raise NoSlurm(
            f"There is no '{command[0]}' on this machine. Add SLURM to the PATH, or use bench/run.py, which needs none."
        ) from None
    except subprocess.TimeoutExpired:
        raise NoQueue(f"SLURM's {command[0]} did not answer within {PATIENCE_S} s.") from None
    except OSError as error:  # for example, too many jobs for one command line
        raise NoQueue(f"SLURM's {command[0]} could not be started: {error.strerror or error}.") from error
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
        complaint = " ".join(line.removeprefix(f"{command[0]}: ").removeprefix("error: ") for line in lines)
        kind = NoSlurm if "configuration source" in complaint else NoQueue
        raise kind(f"SLURM's {command[0]} says: {complaint}")
    return done
