"""Resources of this process: open files, cores, memory, and the processors of a queue's job."""

from __future__ import annotations

import os
import re
import resource
from contextlib import suppress
from pathlib import Path

from bench.base.errors import UserError

FILES = 65_536
"""The most open files to request: some programs loop over all possible descriptors."""
SPARE = 64
"""Files reserved for the console, W&B and datasets."""
PER_JOB = 16
"""Files that a job opens besides its locks: connections, outputs, results."""
HOST_LISTS = (
    "HYDRA_HOST_FILE",
    "OMPI_MCA_orte_default_hostfile",  # version 4
    "PRTE_MCA_prte_default_hostfile",  # version 5
    "PBS_NODEFILE",
    "LSB_DJOB_HOSTFILE",
    "PE_HOSTFILE",
)
"""Environment variables that name a list of machines, which mpiexec uses without an option."""


def files_left() -> int:
    """Raise the limit of open files as far as possible; return how many this process may still open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return (FILES if soft == resource.RLIM_INFINITY else soft) - sum(1 for _ in Path("/dev/fd").iterdir())


def locks_per_job(jobs: int) -> int:
    """Return how many runs each of several jobs may lock at once, at least one."""
    return max(1, (files_left() - SPARE) // jobs - PER_JOB)


def cores() -> int:
    """Return the cores of this process: those it is bound to, within a SLURM job at most those of the job."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(bound, _number("SLURM_CPUS_ON_NODE") or bound)


def core_share(jobs: int) -> int:
    """Return the cores of each of several parallel jobs."""
    return max(1, cores() // jobs)


def several_machines() -> bool:
    """Return whether mpiexec without options would start processes on other machines."""
    if os.environ.get("HYDRA_LAUNCHER") == "fork":
        return False
    return (_number("SLURM_JOB_NUM_NODES") or 1) > 1 or any(os.environ.get(name) for name in HOST_LISTS)


def slurm_tasks() -> int | None:
    """Return the number of processes of a SLURM job; None if the cores of one machine decide.

    That is the number of tasks if the job has several, else the number of CPUs if it has several machines.
    """
    if os.environ.get("HYDRA_LAUNCHER") == "fork":
        return None
    requested = _number("SLURM_NTASKS")
    if requested and requested > 1:
        return requested
    if (_number("SLURM_JOB_NUM_NODES") or 1) == 1:
        return None
    given = re.findall(r"(\d+)(?:\(x(\d+)\))?", os.environ.get("SLURM_JOB_CPUS_PER_NODE", ""))  # as in 8(x2),4
    return sum(int(cpus) * int(times or 1) for cpus, times in given) or None


def _number(name: str) -> int | None:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() and int(value) else None


def free_memory() -> int:
    """Return the free bytes of this machine or container."""
    left = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            left = int(line.split()[1]) * 1024
    limit, used = (_lines(Path("/sys/fs/cgroup") / name) for name in ("memory.max", "memory.current"))
    if limit and used and limit[0].isdigit():
        left = min(left, int(limit[0]) - int(used[0]))
    return max(0, left)


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise ``UserError`` if ``what`` needs more bytes than are free."""
    if needed > (free := free_memory()):
        raise UserError(f"{what} takes {needed / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free here; {remedy}.")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
