"""Blocks: many runs in one table, in memory and in the file of the index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from analysis.results.clashes import clashing
from analysis.results.complete import are_steps
from bench.store.files import parsed
from bench.store.kinds import LONGEST, MANIFEST, are_labels, odd, twice
from bench.store.record import COLUMNS, cut_short
from bench.store.regular import TABLE, content_of, write_bytes

TOGETHER = 200
"""Metrics of this many runs are merged into one table while reading, since small tables waste memory."""
NUMBERS = (pa.int64(), pa.float64(), pa.null())
STARTED = "started"
MAGIC = b"hearsay index 6\n"
BEGIN = len(MAGIC) + hashlib.sha256().digest_size
LENGTH, LARGEST = 8, 4 * TABLE
"""Size of a length field and of the largest index that is read, in bytes."""
TYPES = ("<i8", "<f8")
"""Types of columns in the file. Arrow's own format is unsafe to read from strangers: it may address any memory."""


class Run(NamedTuple):
    """One run as read from its folder."""

    labels: dict[str, Any]
    metrics: pa.Table  # one row per evaluation
    made: dict[str, Any]  # the software that made it, from the manifest
    whole: bool = True  # the run has ended, and its files will not change


class Entry(NamedTuple):
    """One run of a block."""

    stamp: str | None  # of its files; None if they may still change
    labels: dict[str, Any]
    made: dict[str, Any]
    at: int  # its first row
    rows: int


class Block(NamedTuple):
    """Runs by name, whose metrics have the same columns."""

    entries: dict[str, Entry]
    metrics: pa.Table


class Found(NamedTuple):
    """The readable runs in the requested order."""

    labels: list[dict[str, Any]]
    made: list[dict[str, Any]]
    lengths: list[int]
    metrics: pa.Table  # the rows of all runs, in order
    unreadable: list[str]
    blocks: list[Block]
    reasons: dict[str, str]  # why runs clash with others


def collect(names: Iterable[str], runs: Iterable[tuple[str | None, Run | None]]) -> list[Block]:
    """Return the readable runs as blocks; ``runs`` are stamps and runs in the order of ``names``."""
    parts: dict[tuple[Any, ...], tuple[dict[str, Entry], list[pa.Table]]] = {}
    for name, (stamp, run) in zip(names, runs, strict=True):
        if run is None or wrong_metrics(run):
            continue
        schema = run.metrics.schema
        entries, tables = parts.setdefault((*schema.names, *schema.types), ({}, []))
        last = next(reversed(entries.values())) if entries else Entry(None, {}, {}, 0, 0)
        begin = last.at + last.rows
        entries[name] = Entry(stamp if run.whole else None, run.labels, run.made, begin, len(run.metrics))
        tables.append(run.metrics)
        if len(entries) % TOGETHER == 0:
            tables[-TOGETHER:] = [pa.concat_tables(tables[-TOGETHER:]).combine_chunks()]
    return [Block(entries, pa.concat_tables(tables)) for entries, tables in parts.values()]


def wrong_metrics(run: Run) -> str | None:
    """Return what is wrong with a table: columns must be numbers with short names that are no labels, and the steps
    complete. A run without evaluations has no columns."""
    names, types = run.metrics.schema.names, run.metrics.schema.types
    if not names:
        return None
    good = len({*names}) == len(names) and {*types} <= {*NUMBERS} and run.labels.keys().isdisjoint(names)
    if not good or max(map(len, names)) > LONGEST:
        return "its table has columns that hearsay does not write"
    steps = run.metrics["step"] if "step" in names else None
    if steps is None or steps.type != NUMBERS[0] or steps.null_count or not are_steps(steps.to_numpy()):
        return "its steps do not increase from 0 on"
    return cut_short(run.labels, steps[-1].as_py()) if len(steps) else None


def put_together(blocks: Sequence[Block], names: Sequence[str]) -> Found:
    """Return the runs of these names in this order, without runs whose names of metrics clash with labels."""
    used = [block for block in blocks if block.entries]
    begins = np.cumsum([0, *(len(block.metrics) for block in used)])
    groups = [(block.metrics.column_names, {name: one.labels for name, one in block.entries.items()}) for block in used]
    bad = clashing(groups)
    place = {name: number for number, block in enumerate(used) for name in block.entries if name not in bad}
    good = [name for name in names if name in place]
    entries = [used[place[name]].entries[name] for name in good]
    lengths = np.array([entry.rows for entry in entries], dtype=np.int64)
    firsts = np.array([begins[place[name]] for name in good]) + np.array([entry.at for entry in entries])
    metrics = pa.table({})
    if lengths.sum():
        in_turn = dict.fromkeys(place[name] for name in good)  # columns in the order of their first run
        columns = dict.fromkeys(column for part in in_turn for column in used[part].metrics.column_names)
        metrics = _merged([block.metrics for block in used])
        metrics = _rows_of(metrics, firsts, lengths).select(list(columns))
    return Found(
        labels=[entry.labels for entry in entries],
        made=[entry.made for entry in entries],
        lengths=lengths.tolist(),
        metrics=metrics,
        unreadable=[name for name in names if name not in place],
        blocks=list(used),
        reasons=bad,
    )


def _merged(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of all tables. A column that is real in one of them becomes real in all of them."""
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowInvalid:  # Arrow does not round integers over 2⁵³
        real = {field.name: field.type for table in tables for field in table.schema if field.type == pa.float64()}
        schemas = [[(field.name, real.get(field.name, field.type)) for field in table.schema] for table in tables]
        cast = [table.cast(pa.schema(schema), safe=False) for table, schema in zip(tables, schemas, strict=True)]
        return pa.concat_tables(cast, promote_options="permissive")


def _rows_of(metrics: pa.Table, firsts: np.ndarray, lengths: np.ndarray) -> pa.Table:
    """Return the rows of runs, one run after another, from their first rows and their numbers of rows."""
    rows = np.repeat(firsts - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    return metrics if np.array_equal(rows, np.arange(len(metrics))) else metrics.take(rows)


def read_blocks(path: Path) -> list[Block]:
    """Return the blocks of a file; none if it is missing, damaged, forged or of another version."""
    try:
        content = content_of(path, LARGEST)
        body, at, out = memoryview(content)[BEGIN:], 0, []
        if content[:BEGIN] != MAGIC + hashlib.sha256(body).digest():
            return []
        while at < len(body):
            begin = at + LENGTH + int.from_bytes(body[at : at + LENGTH], "little")
            block, at = _read_block(parsed(str(body[at + LENGTH : begin], "utf-8")), body, begin)
            out.append(block)
        return out
    except (OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError, MemoryError, RecursionError):
        return []


def _read_block(said: dict[str, Any], body: memoryview, at: int) -> tuple[Block, int]:
    """Return one block and the position of the next; any error means that the block is invalid."""
    arrays = {}
    for name, kind in said["columns"].items():
        arrays[name] = np.frombuffer(body, TYPES[TYPES.index(kind)], said["rows"], at)
        at += arrays[name].nbytes
    entries: dict[str, Entry] = {}
    for columns, (texts, which, started), stamps, firsts, lengths in said["runs"]:
        rows = np.array([firsts, lengths])
        there = rows.dtype == np.int64 and rows.min() >= 0 and rows.max() <= said["rows"] <= LARGEST  # no sum overflows
        there = there and rows.sum(axis=0).max() <= said["rows"] >= rows[1].sum()
        if (
            not there
            or {*map(type, stamps)} != {str}
            or not are_labels(columns)
            or twice(columns)
            or not columns.keys().isdisjoint((*arrays, *COLUMNS))
        ):
            raise ValueError("no runs")
        each = (values * len(stamps) if len(values) == 1 else values for values in columns.values())
        labels = (dict(zip(columns, row, strict=True)) for row in zip(*each, strict=True))
        software = [parsed(text) for text in texts]
        if any(odd(one, MANIFEST) for one in software) or not {*map(type, started)} <= {str, type(None)}:
            raise ValueError("no software")
        made = ({**software[kind], STARTED: at} for kind, at in zip(which, started, strict=True))
        entries.update(zip(columns["run_id"], map(Entry, stamps, labels, made, firsts, lengths), strict=True))
    if arrays["step"].dtype != TYPES[0]:
        raise ValueError("no steps")
    return Block(entries, pa.table(arrays)), at


def write_blocks(path: Path, blocks: Iterable[Block]) -> None:
    """Write the entries that have a stamp, and their rows.

    Each block is a length, a JSON text of that length, and the columns.
    """
    parts: list[bytes] = []
    for entries, metrics in map(_stamped, blocks):
        alike: dict[tuple[str, ...], list[Entry]] = {}
        for entry in entries.values():
            alike.setdefault(tuple(entry.labels), []).append(entry)
        if not alike:
            continue
        arrays = {name: _numbers(metrics[name]) for name in metrics.column_names}
        types = {name: array.dtype.str for name, array in arrays.items()}
        runs = [_runs(some) for some in alike.values()]
        text = json.dumps({"columns": types, "rows": len(metrics), "runs": runs}).encode()
        text += b" " * (-len(text) % LENGTH)
        parts += [len(text).to_bytes(LENGTH, "little"), text, *(array.tobytes() for array in arrays.values())]
    body = b"".join(parts)
    write_bytes(path, MAGIC + hashlib.sha256(body).digest() + body)


def _stamped(block: Block) -> Block:
    """Return the block without other runs and their rows, which would remain in the file forever."""
    entries = {name: entry for name, entry in block.entries.items() if entry.stamp is not None}
    firsts, lengths = np.array([[entry.at, entry.rows] for entry in entries.values()], dtype=np.int64).reshape(-1, 2).T
    begins = (np.cumsum(lengths) - lengths).tolist()
    moved = {name: entry._replace(at=at) for (name, entry), at in zip(entries.items(), begins, strict=True)}
    return Block(moved, _rows_of(block.metrics, firsts, lengths))


def _runs(entries: Sequence[Entry]) -> list[Any]:
    """Return labels, software, stamps and rows of these runs; labels and software that are equal in all appear once."""
    stamps, labels, made, firsts, lengths = zip(*entries, strict=True)
    software: dict[str, int] = {}
    bare = (json.dumps({name: value for name, value in one.items() if name != STARTED}) for one in made)
    which = [software.setdefault(text, len(software)) for text in bare]
    columns = zip(labels[0], zip(*(one.values() for one in labels), strict=True), strict=True)
    once = {name: values[:1] if _same(values) and name != "run_id" else values for name, values in columns}
    return [once, [list(software), which, [one.get(STARTED) for one in made]], stamps, firsts, lengths]


def _same(values: Sequence[Any]) -> bool:
    return len({(type(value), value) for value in values}) == 1


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Return integers if none is missing, else floats."""
    whole = column.type == pa.int64() and not column.null_count
    column = column if whole else column.cast(pa.float64(), safe=False)
    return column.to_numpy().astype(TYPES[0 if whole else 1])
