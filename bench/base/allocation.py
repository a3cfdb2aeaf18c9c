"""What a queue says about the processors that a job was given; outside of a job, nothing."""

from __future__ import annotations

import os
import re

LISTS = (
    "HYDRA_HOST_FILE",
    "OMPI_MCA_orte_default_hostfile",  # version 4
    "PRTE_MCA_prte_default_hostfile",  # version 5
    "PBS_NODEFILE",
    "LSB_DJOB_HOSTFILE",
    "PE_HOSTFILE",
)
"""Variables that name a list of machines, which an mpiexec follows without being told to."""


def several_machines() -> bool:
    """Whether an mpiexec that is told nothing would start processes on other machines, too."""
    if os.environ.get("HYDRA_LAUNCHER") == "fork":
        return False
    return (_number("SLURM_JOB_NUM_NODES") or 1) > 1 or any(os.environ.get(name) for name in LISTS)


def tasks() -> int | None:
    """Processes that a SLURM job is meant to have: its tasks, where it asked for several; without them, where it has
    several machines, one for each of its CPUs. None where one machine's own processors are what counts."""
    if os.environ.get("HYDRA_LAUNCHER") == "fork":
        return None
    asked = _number("SLURM_NTASKS")
    if asked and asked > 1:
        return asked
    if (_number("SLURM_JOB_NUM_NODES") or 1) == 1:
        return None
    given = re.findall(r"(\d+)(?:\(x(\d+)\))?", os.environ.get("SLURM_JOB_CPUS_PER_NODE", ""))  # as in 8(x2),4
    return sum(int(cpus) * int(times or 1) for cpus, times in given) or None


def cpus_here() -> int | None:
    """CPUs of this machine that are the job's: not every SLURM binds processes to them."""
    return _number("SLURM_CPUS_ON_NODE")


def _number(name: str) -> int | None:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() and int(value) else None
