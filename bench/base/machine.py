"""What the machine gives to one process, and sentences for when it does not."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import suppress
from pathlib import Path

from bench.base import allocation

FILES = 65_536
"""Open files that are asked for at most: some programs look at every one they might have."""
SPARE = 64
"""Files for whatever else goes on: the console, W&B, a dataset that is read."""
PER_JOB = 16
"""Files that a job opens besides its locks: a worker's connection and output, what is being written."""

SHORTAGES = {
    errno.EMFILE: "This process may not open more files: raise the limit (ulimit -n), or use fewer jobs or ranks",
    errno.ENFILE: "This machine cannot open more files: end other programs, or raise fs.file-max",
    errno.ENOMEM: "This machine has no memory left: use fewer jobs or ranks, or a smaller engine.memory_gb",
    errno.EAGAIN: "No more processes can be started: raise the limit (ulimit -u), or use fewer jobs or ranks",
    errno.ENOLCK: "The file system of the results folder has no locks to give: put it on another one (results=...)",
}


def shortage(error: OSError) -> str | None:
    """A sentence if the machine is short of something, None if the error is of another kind."""
    sentence = SHORTAGES.get(error.errno or 0)
    return sentence and f"{sentence} ({error.strerror})."


def files_left() -> int:
    """Files that this process may still open, after asking for as many as it can get."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return (FILES if soft == resource.RLIM_INFINITY else soft) - sum(1 for _ in Path("/dev/fd").iterdir())


def locks_per_job(jobs: int) -> int:
    """Runs that each of several jobs may hold at once; at least one, as a single file may just do."""
    return max(1, (files_left() - SPARE) // jobs - PER_JOB)


def cores() -> int:
    """Cores this process may use: those it is bound to, and in a job of a queue those that are the job's."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(bound, allocation.cpus_here() or bound)


def core_share(jobs: int) -> int:
    """Cores for one of the jobs that run side by side."""
    return max(1, cores() // jobs)
