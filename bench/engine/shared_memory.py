"""Shared-memory segments of MPI ranks: none is left behind, and those of other programs are not touched.

MPICH creates a file in /dev/shm, whose name depends on the time, and removes it only if all ranks exit normally. A rank
here removes the name as soon as every rank has opened the file. The kernel then frees the memory with the last rank.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bench.engine.processes import PROC

FOLDER = Path("/dev/shm")
EARLY = ("mpich_shm_",)
"""Name prefixes of files that no process opens after all ranks have started."""
NAMES = (*EARLY, "ucx_shm_posix_", "vader_segment.", "sm_segment.")
"""Name prefixes of files that MPI libraries create."""
LEAST, USUAL = 1_100_000, 5_500_000
"""Bytes per rank: with less than LEAST, ranks of MPICH die by SIGBUS; USUAL is its size if enough is free."""


class Segment(NamedTuple):
    """A file in shared memory; device and inode distinguish it from a later file of the same name."""

    path: Path
    number: str


def mapped(pid: int | str = "self", names: tuple[str, ...] = NAMES) -> set[Segment]:
    """Return the named segments of MPI that a process has mapped."""
    out = set()
    with suppress(OSError):  # the process belongs to another user or has ended
        for line in (PROC / str(pid) / "maps").read_text(errors="replace").splitlines():
            fields = line.split(maxsplit=5)
            path = Path(fields[5] if len(fields) == 6 else "")
            if path.parent == FOLDER and path.name.startswith(names) and " " not in path.name:  # " (deleted)"
                out.add(Segment(path, f"{fields[3]} {fields[4]}"))
    return out


def remove_names(segments: Collection[Segment]) -> None:
    """Unlink segments; processes that have them mapped keep the memory."""
    for path, number in segments:
        with suppress(OSError):
            found = path.stat()
            if f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x} {found.st_ino}" == number:
                path.unlink()


def sweep(segments: Collection[Segment]) -> None:
    """Remove the segments of ranks that have ended, except those that another process uses."""
    left = {segment for segment in segments if segment.path.exists()}
    if left:
        used = set().union(*(mapped(folder.name) for folder in PROC.iterdir() if folder.name.isdigit()))
        remove_names(left - used)


def shortage(ranks: int, bytes_per_rank: int) -> str:
    """Return an error message if there is not so much free shared memory, else an empty string."""
    try:
        state = os.statvfs(FOLDER)
    except OSError:  # a system without /dev/shm
        return ""
    free, needed = state.f_bavail * state.f_frsize, ranks * bytes_per_rank
    if free >= needed:
        return ""
    return (
        f"{FOLDER} has {free / 1e6:.1f} MB of free shared memory, and {ranks} ranks need {needed / 1e6:.1f} MB. Delete "
        "files that other programs left there, give the container more (docker run --shm-size=1g), or use fewer ranks."
    )
