"""Shared memory of a world of ranks: none is left behind, and none of another program is touched.

MPICH names a file in /dev/shm at random and removes it only when a world ends in peace. Here its name is removed
as soon as every rank has the file open: the memory then goes with the last rank, whatever becomes of it.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bench.base.errors import UserError
from bench.engine.processes import PROC

FOLDER = Path("/dev/shm")
EARLY = ("mpich_shm_",)
"""How the names begin that nobody asks for again once all ranks have started."""
NAMES = (*EARLY, "ucx_shm_posix_", "vader_segment.", "sm_segment.")
"""How the names begin that MPI libraries give."""
LEAST, USUAL = 1_100_000, 5_500_000
"""Bytes per rank without which MPICH's ranks die by SIGBUS, and those it takes where it can."""


class Segment(NamedTuple):
    """A file in shared memory; device and inode tell it from a later one of the same name."""

    path: Path
    number: str


def mapped(pid: int | str = "self", names: tuple[str, ...] = NAMES) -> set[Segment]:
    """What MPI has put into shared memory under a name, of what the process uses."""
    out = set()
    with suppress(OSError):  # another user's, or ended
        for line in (PROC / str(pid) / "maps").read_text(errors="replace").splitlines():
            fields = line.split(maxsplit=5)
            path = Path(fields[5] if len(fields) == 6 else "")
            if path.parent == FOLDER and path.name.startswith(names) and " " not in path.name:  # " (deleted)"
                out.add(Segment(path, f"{fields[3]} {fields[4]}"))
    return out


def remove_names(segments: Collection[Segment]) -> None:
    """The files stay for those who have them open, and vanish with the last of them."""
    for path, number in segments:
        with suppress(OSError):
            found = path.stat()
            if f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x} {found.st_ino}" == number:
                path.unlink()


def sweep(segments: Collection[Segment]) -> None:
    """Remove what a world that has ended left behind, unless somebody uses it after all."""
    left = [segment for segment in segments if segment.path.exists()]
    if left:
        used = set().union(*(mapped(folder.name) for folder in PROC.iterdir() if folder.name.isdigit()))
        remove_names(set(left) - used)


def free() -> float:
    """Bytes of shared memory that are left; infinity where there is no such folder."""
    try:
        state = os.statvfs(FOLDER)
    except OSError:
        return float("inf")
    return state.f_bavail * state.f_frsize


def refuse_full(ranks: int) -> None:
    """Say so where a world could not even start."""
    if free() < ranks * LEAST:
        raise UserError(f"{ranks} ranks cannot be started: {_scarce(free(), ranks * LEAST)}")


def hint(ranks: int) -> str:
    """A sentence to add should the ranks that are about to start die: empty where there is memory enough."""
    return f" It may be that {_scarce(free(), ranks * USUAL)}" if free() < ranks * USUAL else ""


def _scarce(left: float, wanted: float) -> str:
    return (
        f"shared memory is scarce: {FOLDER} has {left / 1e6:.1f} MB left, and {wanted / 1e6:.1f} MB are wanted. Remove "
        "what other programs have left there, give the container more (docker run --shm-size=1g), or use fewer ranks."
    )
