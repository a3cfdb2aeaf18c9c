"""An index beside the runs: the labels and metrics of many ended runs in one file, so that thousands take seconds.

It is made by whoever reads many runs and is never trusted over them: an entry stands for the files of a run as they
were, and is passed over when one of them has another time, size or place on the disk. Without it, or where it is
damaged or cannot be written, everything is read from the runs themselves, by a process per core.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from analysis.results.run import Run, read_run
from bench.base.files import write_bytes
from bench.base.home import ROOT

MANY = 500
"""Runs from which an index is kept;"""
WORTH = 1000
"""and those that are not in it from which processes are started to read them."""
TOGETHER = 200
"""Runs whose metrics are put into one table while thousands are read."""
MAGIC = b"hearsay index 1\n"
FILES = ("summary.json", "metrics.parquet", "status.json", "manifest.json", "config.yaml")
"""What is examined when a run is read; the first two must be there."""
HEADS = pa.schema([("name", pa.string()), ("stamp", pa.string()), ("labels", pa.string()), ("rows", pa.int64())])


Read = Callable[[Path], Run | None]
Entries = dict[str, tuple[str, Run]]
"""By the name of a run: the stamp of its files, and what they held."""


def read_all(results: Path, folders: Sequence[Path], read: Read) -> list[Run | None]:
    """What ``read`` says of each folder, from the index where that is up to date."""
    if len(folders) < MANY:
        return _threads(read, folders)
    stamps = dict(zip((folder.name for folder in folders), map(stamp_of, folders), strict=True))
    old = {name: entry for name, entry in read_index(file_of(results)).items() if stamps.get(name) == entry[0]}
    fresh = _by_processes(results, [folder.name for folder in folders if folder.name not in old])
    known = {**old, **{name: entry for name, entry in fresh.items() if stamps.get(name) == entry[0]}}
    rest = [folder for folder in folders if folder.name not in known]
    others = dict(zip((folder.name for folder in rest), _threads(read, rest), strict=True))
    known |= {
        name: (stamp, run) for name, run in others.items() if run and run.whole and (stamp := stamps[name]) is not None
    }
    if len(known) - len(old) > len(folders) // 50:
        _keep(results, known)
    return [known[folder.name][1] if folder.name in known else others[folder.name] for folder in folders]


def file_of(results: Path) -> Path:
    return results / ".index" / "runs"


def stamp_of(folder: Path) -> str | None:
    """What tells that the files of a run are still the same; None where one is missing without which there is none."""
    states = [_state(f"{folder}/{name}") for name in FILES]
    return None if None in states[:2] else " ".join(map(str, states))


def _state(path: str) -> str | None:
    try:
        state = os.stat(path)  # noqa: PTH116  twice as fast, and asked 100000 times
    except OSError:
        return None
    return f"{state.st_mtime_ns}:{state.st_size}:{state.st_ino}"


def read_index(path: Path) -> Entries:
    """The entries of an index; none where there is no index, or one that is damaged or of another version."""
    try:
        content = pa.py_buffer(path.read_bytes())
        begin = len(MAGIC) + hashlib.sha256().digest_size
        head, body = content.slice(0, begin).to_pybytes(), content.slice(begin)
        if head != MAGIC + hashlib.sha256(body).digest():
            return {}
        source = pa.BufferReader(body)
        heads = pa.ipc.open_stream(source).read_all().to_pydict()
        rows = pa.ipc.open_stream(source).read_all()
        out, at = {}, 0
        for name, stamp, labels, count in zip(*heads.values(), strict=True):
            out[name] = (stamp, Run(json.loads(labels), rows.slice(at, count)))
            at += count
        return out
    except (OSError, ValueError, pa.ArrowException):
        return {}


def write_index(path: Path, entries: Entries) -> None:
    """The entries whose metrics have the columns that most have; the others stay out, and are read by themselves."""
    columns_of = {name: tuple(run.metrics.column_names) for name, (_, run) in entries.items()}
    usual, _ = next(iter(Counter(columns_of.values()).most_common(1)), ((), 0))
    kept = {name: entry for name, entry in entries.items() if columns_of[name] == usual}
    columns = [
        list(kept),
        [stamp for stamp, _ in kept.values()],
        [json.dumps(run.labels) for _, run in kept.values()],
        [len(run.metrics) for _, run in kept.values()],
    ]
    tables = [run.metrics for _, run in kept.values()]
    rows = pa.concat_tables(tables, promote_options="permissive") if kept else pa.table({})
    sink = pa.BufferOutputStream()
    for table in (pa.Table.from_arrays([pa.array(c) for c in columns], schema=HEADS), rows.combine_chunks()):
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    body = sink.getvalue()
    write_bytes(path, MAGIC + hashlib.sha256(body).digest() + body.to_pybytes())


def _keep(results: Path, entries: Entries) -> None:
    try:
        file_of(results).parent.mkdir(exist_ok=True)
        write_index(file_of(results), entries)
    except OSError:
        pass  # a folder of somebody else's: the next reader takes as long as this one


def _threads(read: Read, folders: Sequence[Path]) -> list[Run | None]:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(read, folders))


def _by_processes(results: Path, names: Sequence[str]) -> Entries:
    """What a process per core can read of these runs: not threads, which would wait for each other; and not forks of
    this process, of which nobody knows what threads it has."""
    parts = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(names) < WORTH or parts < 2:
        return {}
    out: Entries = {}
    with tempfile.TemporaryDirectory() as scratch:
        with ThreadPoolExecutor(parts) as pool:
            files = [Path(scratch) / str(part) for part in range(parts)]
            list(pool.map(lambda part: _process(results, names[part::parts], files[part]), range(parts)))
        for file in files:
            out |= read_index(file)
    return out


def _process(results: Path, names: Sequence[str], out: Path) -> None:
    work = "import sys; from analysis.results.index import work; work(*sys.argv[1:])"
    command = [sys.executable, "-c", work, str(results.resolve()), str(out)]
    subprocess.run(command, cwd=ROOT, input="\n".join(names), text=True, capture_output=True, check=False)


def _put_together(entries: Entries, names: Sequence[str]) -> None:
    """Small tables take much more memory than their numbers: these runs share one from now on."""
    tables = [entries[name][1].metrics for name in names]
    if any(table.column_names != tables[0].column_names for table in tables):
        return
    whole, at = pa.concat_tables(tables, promote_options="permissive").combine_chunks(), 0
    for name, table in zip(names, tables, strict=True):
        stamp, run = entries[name]
        entries[name] = (stamp, run._replace(metrics=whole.slice(at, len(table))))
        at += len(table)


def work(results: str, out: str) -> None:
    """What one process does: the runs named on standard input, into a file like an index."""
    entries: Entries = {}
    loose: list[str] = []
    for name in sys.stdin.read().splitlines():
        folder = Path(results) / "runs" / name
        stamp = stamp_of(folder)
        run = read_run(folder) if stamp else None
        if stamp and run and run.whole:
            entries[name] = (stamp, run)
            loose.append(name)
            if len(loose) == TOGETHER:
                _put_together(entries, loose)
                loose.clear()
    write_index(Path(out), entries)
