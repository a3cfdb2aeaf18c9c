"""An index beside the runs: the labels and metrics of many ended runs in one file, so that thousands take seconds.

It is made by whoever reads many runs and is never trusted over them: an entry stands for the files of a run as they
were, and is passed over when one of them has another time, size or place on the disk. Without it, or where it is
damaged or cannot be written, everything is read from the runs themselves, by a process per core.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from analysis.results.block import Block, Found, collect, put_together, read_blocks, write_blocks
from analysis.results.run import Run, read_run
from bench.base.home import ROOT
from bench.store.regular import make_folder

MANY = 500
"""Runs from which an index is kept;"""
WORTH = 1000
"""and those that are not in it from which processes are started to read them."""
FILES = ("summary.json", "metrics.parquet", "status.json", "manifest.json", "config.yaml")
"""What is examined when a run is read; the first two must be there."""

Read = Callable[[Path], Run | None]


def read_all(results: Path, names: Sequence[str], read: Read) -> Found:
    """What ``read`` says of each run, from the index where that is up to date."""
    if len(names) < MANY:
        return put_together(_one_by_one(results, names, read), names)
    linked = file_of(results).parent.is_symlink()
    old = [] if linked else [_up_to_date(block, results) for block in read_blocks(file_of(results))]
    known = {name for block in old for name in block.entries}
    fresh = _by_processes(results, [name for name in names if name not in known])
    known |= {name for block in fresh for name in block.entries}
    others = _one_by_one(results, [name for name in names if name not in known], read)
    found = put_together([*old, *fresh, *others], names)
    new = sum(entry.stamp is not None for block in (*fresh, *others) for entry in block.entries.values())
    if new > len(names) // 50:
        _keep(results, found)
    return found


def file_of(results: Path) -> Path:
    return results / ".index" / "runs"


def stamp_of(folder: Path | str) -> str | None:
    """What tells that the files of a run are still the same; None where one is missing without which there is none."""
    states = [_state(f"{folder}/{name}") for name in FILES]
    return None if None in states[:2] else " ".join(map(str, states))


def _state(path: str) -> str | None:
    try:
        state = os.lstat(path)  # twice as fast as a Path's, and asked 100000 times
    except OSError:
        return None
    regular = stat.S_ISREG(state.st_mode)  # what is none is never the same
    return f"{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_size}:{state.st_ino}" if regular else None


def _up_to_date(block: Block, results: Path) -> Block:
    """Without the entries of runs that have changed, or are links now."""
    runs = results / "runs"
    with os.scandir(runs) as there:
        links = {entry.name for entry in there if entry.is_symlink()}
    entries = ((name, entry) for name, entry in block.entries.items() if name not in links)
    return block._replace(entries={name: entry for name, entry in entries if stamp_of(f"{runs}/{name}") == entry.stamp})


def _keep(results: Path, found: Found) -> None:
    try:
        make_folder(file_of(results).parent)
        write_blocks(file_of(results), found.blocks)
    except OSError:
        pass  # a folder of somebody else's: the next reader takes as long as this one


def _one_by_one(results: Path, names: Sequence[str], read: Read) -> list[Block]:
    """Read here, by threads."""
    with ThreadPoolExecutor() as pool:
        return collect(names, pool.map(lambda name: _read(results, name, read), names))


def _read(results: Path, name: str, read: Read) -> tuple[str | None, Run | None]:
    """A run and its stamp, which is that of before it was read."""
    folder = results / "runs" / name
    return stamp_of(folder), read(folder)


def _by_processes(results: Path, names: Sequence[str]) -> list[Block]:
    """What a process per core can read of these runs: not threads, which would wait for each other; and not forks of
    this process, of which nobody knows what threads it has."""
    parts = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(names) < WORTH or parts < 2:
        return []
    size = -(-len(names) // parts)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(parts) as pool:
        files = [Path(scratch) / str(part) for part in range(parts)]
        list(pool.map(lambda part: _process(results, names[part * size :][:size], files[part]), range(parts)))
        return [block for file in files for block in read_blocks(file)]


def _process(results: Path, names: Sequence[str], out: Path) -> None:
    work = "import sys; from analysis.results.index import work; work(*sys.argv[1:])"
    command = [sys.executable, "-c", work, str(results.resolve()), str(out)]
    subprocess.run(command, cwd=ROOT, input="\n".join(names), text=True, capture_output=True, check=False)


def work(results: str, out: str) -> None:
    """What one process does: the runs named on standard input, into a file like an index."""
    names = sys.stdin.read().splitlines()
    write_blocks(Path(out), collect(names, (_read(Path(results), name, read_run) for name in names)))
