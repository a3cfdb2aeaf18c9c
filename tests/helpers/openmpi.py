"""The system's OpenMPI, beside the MPICH of the environment."""

from __future__ import annotations

import shutil
from pathlib import Path

LAUNCH = "/usr/bin/mpiexec.openmpi"


def library() -> Path | None:
    return next(iter(Path("/usr/lib").glob("*/libmpi.so.40")), None)


def lacking() -> str | None:
    """Why it cannot be tried here."""
    return None if shutil.which(LAUNCH) and library() else "no OpenMPI of the system"
