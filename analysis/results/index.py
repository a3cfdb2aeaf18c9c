"""An index of the runs: the labels and metrics of ended runs in one file, so that thousands load in seconds.

The folders of the runs always take precedence. An entry is used only if the files of its run still have the same times,
size and inode. Without a valid index, one process per core reads the folders.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from analysis.results.block import Block, Found, Run, collect, put_together, read_blocks, write_blocks, wrong_metrics
from analysis.results.columns import in_cells
from bench.base.home import ROOT
from bench.store.integrity import examine
from bench.store.read_parquet import UNREADABLE, read_table
from bench.store.regular import make_folder

MANY = 500
"""The number of runs from which an index is kept."""
WORTH = 1000
"""The number of runs to read from which several processes read them."""
FILES = ("summary.json", "metrics.parquet", "status.json", "manifest.json", "config.yaml")
"""The files that identify the state of a run; the first two are required."""


def read_run(folder: Path) -> Run | str | None:
    """Read one run; the reason if its table is invalid, and None if a file is not as it was written."""
    found = examine(folder)
    if found.damaged:
        return None
    labels = in_cells({**found.labels, "run_id": folder.name})
    try:
        metrics = pa.Table.from_pylist(found.rows) if found.metrics is None else read_table(found.metrics)
    except (*UNREADABLE, pa.ArrowException) as error:  # a digest can be forged
        return str(error) if type(error) is ValueError else None
    whole = found.metrics is not None
    return Run(labels, metrics, found.made, whole) if len(metrics) or not whole else None


def read_all(results: Path, names: Sequence[str]) -> Found:
    """Read these runs, from the index where it is up to date."""
    reasons: dict[str, str] = {}
    if len(names) < MANY:
        return _with(reasons, put_together(_by_threads(results, names, reasons), names))
    linked = file_of(results).parent.is_symlink()
    old = [] if linked else [_up_to_date(block, results) for block in read_blocks(file_of(results))]
    known = {name for block in old for name in block.entries}
    fresh = _by_processes(results, [name for name in names if name not in known])
    known |= {name for block in fresh for name in block.entries}
    fresh += _by_threads(results, [name for name in names if name not in known], reasons)
    found = put_together([*old, *fresh], names)
    if sum(entry.stamp is not None for block in fresh for entry in block.entries.values()) > len(names) // 50:
        with suppress(OSError):  # the folder may be read-only; the next reader then reads the runs again
            make_folder(file_of(results).parent)
            write_blocks(file_of(results), found.blocks)
    return _with(reasons, found)


def _with(reasons: dict[str, str], found: Found) -> Found:
    return found._replace(reasons={**reasons, **found.reasons})


def file_of(results: Path) -> Path:
    return results / ".index" / "runs"


def stamp_of(folder: Path | str) -> str | None:
    """Return a text that changes with the files of a run; None if a required file is missing."""
    states = [_state(f"{folder}/{name}") for name in FILES]
    return None if None in states[:2] else " ".join(map(str, states))


def _state(path: str) -> str | None:
    try:
        state = os.lstat(path)  # twice as fast as Path.lstat, and called 100,000 times
    except OSError:
        return None
    regular = stat.S_ISREG(state.st_mode)
    return f"{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_size}:{state.st_ino}" if regular else None


def _up_to_date(block: Block, results: Path) -> Block:
    """Return the block without runs that have changed or are symbolic links now."""
    runs = results / "runs"
    with os.scandir(runs) as there:
        links = {entry.name for entry in there if entry.is_symlink()}
    entries = ((name, entry) for name, entry in block.entries.items() if name not in links)
    return block._replace(entries={name: entry for name, entry in entries if stamp_of(f"{runs}/{name}") == entry.stamp})


def _by_threads(results: Path, names: Sequence[str], reasons: dict[str, str]) -> list[Block]:
    with ThreadPoolExecutor() as pool:
        return collect(names, pool.map(lambda name: _read(results, name, reasons), names))


def _read(results: Path, name: str, reasons: dict[str, str]) -> tuple[str | None, Run | None]:
    """Return the stamp of a run, taken before reading, and the run; add the reason if it is invalid."""
    folder = results / "runs" / name
    stamp, run = stamp_of(folder), read_run(folder)
    if wrong := run if isinstance(run, str) else run and wrong_metrics(run):
        reasons[name] = wrong
    return stamp, None if isinstance(run, str) else run


def _by_processes(results: Path, names: Sequence[str]) -> list[Block]:
    """Read these runs with one process per core; no runs if they are too few.

    Threads would wait for each other, and a fork of this process could deadlock on a lock of one of its threads.
    """
    parts = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(names) < WORTH or parts < 2:
        return []
    size = -(-len(names) // parts)
    work = "import sys; from analysis.results.index import work; work(*sys.argv[1:])"

    def start(part: int) -> None:
        command = [sys.executable, "-c", work, str(results.resolve()), str(files[part])]
        mine = "\n".join(names[part * size :][:size])
        subprocess.run(command, cwd=ROOT, input=mine, text=True, capture_output=True, check=False)

    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(parts) as pool:
        files = [Path(scratch) / str(part) for part in range(parts)]
        list(pool.map(start, range(parts)))
        return [block for file in files for block in read_blocks(file)]


def work(results: str, out: str) -> None:
    """Read the runs named on standard input, and write them into a file in the format of the index."""
    names = sys.stdin.read().splitlines()
    write_blocks(Path(out), collect(names, (_read(Path(results), name, {}) for name in names)))
