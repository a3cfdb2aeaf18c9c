"""Many runs in one table: what thousands are kept in while they are read, and how they lie in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from analysis.results.run import Run
from bench.base.files import write_bytes

TOGETHER = 200
"""Runs whose metrics are put into one table while thousands are read: small ones take much more than their numbers."""
MAGIC = b"hearsay index 3\n"
HEADS = pa.schema(
    [("name", pa.string()), ("stamp", pa.string()), ("labels", pa.string()), ("at", pa.int64()), ("rows", pa.int64())]
)


class Entry(NamedTuple):
    """One run of a block."""

    stamp: str | None  # of its files; None where what was read may change
    labels: str  # as JSON, and what made it
    at: int  # its first row
    rows: int


class Block(NamedTuple):
    """Runs whose metrics have the same columns, by name."""

    entries: dict[str, Entry]
    metrics: pa.Table


class Found(NamedTuple):
    """Runs in the order that was asked for, without those that cannot be read."""

    labels: list[dict[str, Any]]
    made: list[dict[str, Any]]
    lengths: list[int]
    metrics: pa.Table  # the rows of all, one run after another
    unreadable: list[str]
    blocks: list[Block]


class Collector:
    """Takes runs one by one."""

    def __init__(self) -> None:
        self._parts: list[tuple[dict[str, Entry], list[pa.Table], list[pa.Table]]] = []

    def add(self, name: str, stamp: str | None, run: Run) -> None:
        entries, done, loose = self._part(run.metrics.schema)
        at = next(reversed(entries.values())) if entries else Entry(None, "", 0, 0)
        entries[name] = Entry(stamp, json.dumps([run.labels, run.made]), at.at + at.rows, len(run.metrics))
        loose.append(run.metrics)
        if len(loose) == TOGETHER:
            done.append(pa.concat_tables(loose).combine_chunks())
            loose.clear()

    def _part(self, schema: pa.Schema) -> tuple[dict[str, Entry], list[pa.Table], list[pa.Table]]:
        for part in self._parts:
            if (part[1] or part[2])[0].schema.equals(schema):
                return part
        self._parts.append(({}, [], []))
        return self._parts[-1]

    def blocks(self) -> list[Block]:
        return [Block(entries, pa.concat_tables([*done, *loose])) for entries, done, loose in self._parts]


def put_together(blocks: Sequence[Block], names: Sequence[str]) -> Found:
    """The runs of these names in their order."""
    used = [block for block in blocks if block.entries]
    begins = np.cumsum([0, *(len(block.metrics) for block in used)])
    place = {name: number for number, block in enumerate(used) for name in block.entries}
    good = [name for name in names if name in place]
    entries = [used[place[name]].entries[name] for name in good]
    lengths = np.array([entry.rows for entry in entries], dtype=np.int64)
    firsts = np.array([begins[place[name]] for name in good]) + np.array([entry.at for entry in entries])
    metrics = pa.table({})
    if lengths.sum():
        in_turn = dict.fromkeys(place[name] for name in good)  # columns as the first run that has them has them
        columns = dict.fromkeys(column for part in in_turn for column in used[part].metrics.column_names)
        metrics = pa.concat_tables([block.metrics for block in used], promote_options="permissive")
        rows = np.repeat(firsts - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        if not np.array_equal(rows, np.arange(len(metrics))):
            metrics = metrics.take(rows)
        metrics = metrics.select(list(columns))
    told = [json.loads(entry.labels) for entry in entries]
    return Found(
        labels=[labels for labels, _ in told],
        made=[made for _, made in told],
        lengths=lengths.tolist(),
        metrics=metrics,
        unreadable=[name for name in names if name not in place],
        blocks=list(used),
    )


def read_blocks(path: Path) -> list[Block]:
    """The blocks of a file; none where there is no file, or one that is damaged or of another version."""
    try:
        content = pa.py_buffer(path.read_bytes())
        begin = len(MAGIC) + hashlib.sha256().digest_size
        head, body = content.slice(0, begin).to_pybytes(), content.slice(begin)
        if head != MAGIC + hashlib.sha256(body).digest():
            return []
        source, out = pa.BufferReader(body), []
        while source.tell() < body.size:
            names, *columns = pa.ipc.open_stream(source).read_all().to_pydict().values()
            entries = dict(zip(names, map(Entry, *columns), strict=True))
            out.append(Block(entries, pa.ipc.open_stream(source).read_all()))
        return out
    except (OSError, ValueError, pa.ArrowException):
        return []


def write_blocks(path: Path, blocks: Iterable[Block]) -> None:
    """The entries that have a stamp, with their rows."""
    sink = pa.BufferOutputStream()
    for block in blocks:
        kept = {name: entry for name, entry in block.entries.items() if entry.stamp is not None}
        if not kept:
            continue
        columns = [list(kept), *map(list, zip(*kept.values(), strict=True))]
        for table in (pa.table(columns, schema=HEADS), block.metrics):
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
    body = sink.getvalue()
    write_bytes(path, MAGIC + hashlib.sha256(body).digest() + body.to_pybytes())
