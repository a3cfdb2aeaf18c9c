"""How much memory there is, and a sentence where it is not enough."""

from __future__ import annotations

import os
from pathlib import Path

from bench.base.errors import UserError


def free_memory() -> int:
    """Bytes that this machine, or the container we are in, has left."""
    left = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            left = int(line.split()[1]) * 1024
    limit, used = (_lines(Path("/sys/fs/cgroup") / name) for name in ("memory.max", "memory.current"))
    if limit and used and limit[0].isdigit():
        left = min(left, int(limit[0]) - int(used[0]))
    return max(0, left)


def require(needed: float, what: str, remedy: str) -> None:
    """Refuse what would not fit, before the machine finds out."""
    if needed > (free := free_memory()):
        raise UserError(f"{what} takes {needed / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free here; {remedy}.")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
