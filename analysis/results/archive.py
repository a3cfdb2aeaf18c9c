"""Archives: results as three small files instead of thousands."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import reprlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.results.complete import STEPS
from analysis.results.errors import NoData
from analysis.results.results import Results
from bench.base import renamed
from bench.base.errors import UserError
from bench.store.files import parsed, sha256
from bench.store.integrity import FACTS, MANIFESTS, ROWS, RUNS, SUMS, unsealed
from bench.store.kinds import LONGEST, MANIFEST, MOST, NEEDED, RESERVED, SUMMARY, are_labels, is_name, odd, twice
from bench.store.read_parquet import ARCHIVED, UNREADABLE, read_table
from bench.store.record import FINAL, HOW, WITH_GROUP, cut_short
from bench.store.regular import TABLE, content_of, write_together
from bench.store.stored_run import IDENTITY

DROPPED = ("vectors_sent", "compute_s", "comm_s", "eval_s")
"""Metrics that no figure compares."""
SHORT = 16
"""Characters of the hash of all settings that an archive keeps."""
HASH = "settings_hash"
BESIDE = {"fact", "zeta", HASH}
"""Columns of the runs that are no labels."""
LARGEST = 3e38
"""Larger values are clipped, so that they stay finite in single precision."""
MIXED = b"mixed"
"""In the metadata of the runs: row and value of the numbers and switches in columns of texts."""
INVALID = (*UNREADABLE, pa.ArrowException, IndexError, AttributeError, RecursionError)
"""Errors that invalid files of an archive raise."""


def clipped(values: np.ndarray) -> np.ndarray:
    """Return the values as an archive has them; infinite values and NaN stay."""
    return np.where(np.isfinite(values), values.clip(-LARGEST, LARGEST), values)


def is_archive(folder: Path) -> bool:
    return (folder / RUNS).is_file()


def check_target(folder: Path) -> None:
    """Raise ``UserError`` if an archive in this folder would hide runs."""
    if (folder / "runs").is_dir():
        raise UserError(
            f"{folder} is a results folder: it has a folder 'runs'. An archive needs a folder of its own. To pack "
            f"several sources, type the archive last: python analysis/archive.py {folder} OTHER_SOURCE ARCHIVE."
        )


def write_archive(results: Results, folder: Path, check: Callable[[], None] = lambda: None) -> None:
    """Write labels and states, evaluations in single precision, and each distinct manifest once.

    Finite metrics of diverging runs are clipped to ±3e38, the range of single precision.
    Runs without evaluations are not written. The files are decoded before they replace an older archive. Before the
    replacement, ``check`` is called, while no other process of this machine writes into the folder.

    Raises:
        NoData: No run has ended, or the runs would be an invalid archive.
    """
    check_target(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ended = results.runs[results.runs["state"].isin(FINAL) & results.runs["run_id"].isin(results.rows["run_id"])]
    ended = ended.reset_index(drop=True)
    if ended.empty:
        raise NoData("no run with evaluations has ended")
    labels = ended[[c for c in ended.columns if c.partition(".")[0] not in HOW]].dropna(axis=1, how="all")
    different: dict[str, int] = {}
    numbers, zetas, identities = [], [], []
    for run in ended["run_id"]:
        fact = _public(results.facts.get(run, {}))
        zetas.append(fact.pop("heterogeneity", None))
        identities.append(str(fact.pop(IDENTITY, ""))[:SHORT] or None)
        numbers.append(different.setdefault(json.dumps(fact, sort_keys=True), len(different)))
    labels = labels.assign(fact=numbers, zeta=pd.Series(zetas, dtype=float))
    if any(identities):
        labels[HASH] = identities
    rows = results.rows[results.rows["run_id"].isin(ended["run_id"])]
    place = pd.Series(range(len(ended)), index=ended["run_id"])
    if len(wrong := rows["step"][~rows["step"].between(0, STEPS - 1) | (rows["step"] % 1 != 0)]):
        raise NoData(f"a run has an evaluation at step {wrong.iloc[0]}; a step must be from 0 to {STEPS - 1}")
    table = pd.DataFrame({"run": rows["run_id"].map(place).astype("int32"), "step": rows["step"].astype("int32")})
    for name in rows.columns:
        if name not in ("run_id", "step", *DROPPED):
            values = rows[name].astype("float64")
            kind = "float64" if name == "test_accuracy" else "float32"
            table[name] = clipped(values.to_numpy()).astype(kind)
    table = table.sort_values(["run", "step"], ignore_index=True)
    mixed: dict[str, list[tuple[int, Any]]] = {}
    for name in labels:  # a column of Parquet has one type
        if labels[name].dtype.kind == "O" and labels[name].dropna().map(type).nunique() > 1:
            known = [(row, value) for row, value in enumerate(labels[name].tolist()) if not pd.isna(value)]
            mixed[name] = [(row, value) for row, value in known if type(value) is not str]
            labels[name] = labels[name].map(lambda value: value if pd.isna(value) else str(value))
    tables = {RUNS: _content(labels, {MIXED: json.dumps(mixed)} if mixed else {}), ROWS: _content(table)}
    seal = json.dumps({SUMS: {name: sha256(content) for name, content in tables.items()}})
    facts = "[\n" + ",\n".join([*different, seal]) + "\n]\n"
    files = {FACTS: facts.encode(), **tables}
    try:
        _decoded(files)
    except INVALID as error:
        raise NoData(f"the runs would be an invalid archive: {error}; {folder} is unchanged") from error
    # the digests first: if only some files are replaced, they do not match the others
    with _alone(folder):
        write_together({folder / name: content for name, content in files.items()}, check, lasting=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process of this machine writes an archive into this folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read_archive(folder: Path) -> Results:
    if (folder / "runs").is_dir():
        files = ", ".join((RUNS, ROWS, FACTS))
        raise NoData(f"{folder} is a results folder and an archive; move {files} to a folder of their own")
    try:
        tables = {name: content_of(folder / name, TABLE) for name in (RUNS, ROWS)}
        runs, rows, facts = _decoded({FACTS: content_of(folder / FACTS, MANIFESTS), **tables})
    except INVALID as error:
        raise NoData(f"the archive {folder} is invalid: {error}") from error
    wide = {name: "float64" for name in rows.columns if rows[name].dtype == np.float32}
    ends = rows.drop_duplicates("run_id", keep="last")
    last = dict(zip(ends["run_id"], ends["step"].tolist(), strict=True))
    each = (
        (labels["run_id"], cut_short(labels, last[labels["run_id"]]))
        for labels in runs[["run_id", "state", "steps"]].to_dict("records")
    )
    if reasons := {run: reason for run, reason in each if reason}:
        runs, rows = (table[~table["run_id"].isin(reasons)].reset_index(drop=True) for table in (runs, rows))
    return Results(runs, rows.astype(wide), facts, [*reasons], str(folder), reasons=reasons)


def _decoded(files: dict[str, bytes]) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, dict[str, Any]]]:
    """Return the runs, evaluations and manifests in the files of an archive; one of ``INVALID`` if they are none."""
    different = unsealed(parsed(files[FACTS].decode()), {name: files[name] for name in (RUNS, ROWS)})
    runs = read_table(files[RUNS], texts=True).to_pandas()  # without metadata
    metadata = pq.read_schema(pa.BufferReader(files[RUNS])).metadata or {}
    for name, values in parsed(metadata.get(MIXED, b"{}").decode()).items():
        column = runs[name].tolist()
        for row, value in values:
            column[row] = value
        runs[name] = pd.Series(column, index=runs.index, dtype=object)
    rows = read_table(files[ROWS], rows=ARCHIVED).to_pandas()
    runs["state"] = runs["state"].replace(renamed.STATES)
    if nameless := [name for name in runs["run_id"] if not is_name(name)]:
        raise ValueError(f"{reprlib.repr(nameless[0])} is not a valid name of a run")
    if not are_labels({name: runs[name].tolist() for name in ("run_id", *NEEDED)}):
        raise ValueError("the labels are invalid")
    _check(runs, rows)
    if wrong := next(filter(None, (odd(fact, MANIFEST) for fact in different)), None):
        raise ValueError(f"{FACTS} {wrong}")
    facts = {
        run: {**different[number], "heterogeneity": None if np.isnan(zeta) else zeta}
        for run, number, zeta in zip(runs["run_id"], runs.pop("fact"), runs.pop("zeta"), strict=True)
    }
    if HASH in runs:
        for run, identity in zip(runs["run_id"], runs.pop(HASH), strict=True):
            facts[run] |= {IDENTITY: identity} if isinstance(identity, str) else {}
    names = runs["run_id"].to_numpy()
    rows.insert(0, "run_id", names[rows.pop("run").to_numpy()])
    return runs, rows, facts


def _check(runs: pd.DataFrame, rows: pd.DataFrame) -> None:
    """Raise ``ValueError`` if the tables are not those of an archive: it may come from a stranger."""
    values = [value for name in runs for value in runs[name].dropna().unique().tolist()]
    if not runs["run_id"].is_unique or not {*map(type, values)} <= {str, int, float, bool}:
        raise ValueError("the labels are invalid")
    labels = ({name: value} for name in {*runs} - BESIDE for value in _distinct(runs[name]))
    if wrong := next(filter(None, (odd(one, SUMMARY) for one in labels)), None):
        raise ValueError(f"a run {wrong}")
    if len(runs) and (most := runs.notna().sum(axis=1).max()) > MOST:
        raise ValueError(f"a run has {most} labels; the limit is {MOST}")
    for old, new in WITH_GROUP.items():
        if {old, new} <= {*runs} - BESIDE and (runs[old].notna() & runs[new].notna()).any():
            raise ValueError(f"a run {twice((old, new))}")
    texts = [*runs, *rows, *(value for value in values if type(value) is str)]
    if (longest := max(map(len, texts))) > LONGEST:
        raise ValueError(f"a label has {longest} characters; at most {LONGEST} are allowed")
    kinds = {rows.dtypes[name].kind if rows.columns.tolist().count(name) == 1 else None for name in ("run", "step")}
    if not rows.columns.is_unique or kinds != {"i"} or ({*rows} - {"run"}) & {*runs, *RESERVED}:
        raise ValueError("the evaluations are invalid")
    if len(bare := runs["run_id"][~runs.index.isin(rows["run"])]):
        raise ValueError(f"the run {bare.iloc[0]} has no evaluations")
    places = rows[["run", "step"]].to_numpy(dtype=np.int64)
    later = (np.diff(places, axis=0) * [[1 << 32, 1]]).sum(axis=1) > 0
    if len(places) and (places.min() < 0 or places.max() >= STEPS or not later.all()):
        raise ValueError("the evaluations are not sorted by run and step")


def _distinct(column: pd.Series) -> list[Any]:
    """Return the known values; integers are stored as real numbers in a column with missing values."""
    values = column.dropna().unique().tolist()
    real = column.dtype.kind == "f" and column.isna().any()
    return [int(value) if real and value.is_integer() and abs(value) < 1 << 53 else value for value in values]


def _public(fact: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest without the entries that are private to a machine, a sweep or one start of the run."""
    host = dict(fact.get("host") or {})
    if name := host.pop("name", ""):  # four digits tell hosts apart, and do not tell their names
        host["digest"] = hashlib.sha256(str(name).encode()).hexdigest()[:4]
    out = {
        key: value
        for key, value in fact.items()
        if key not in ("run_id", "start", "varies", "resumed", "replicas", "sweep")
    }
    day = {"started": str(fact["started"])[:10]} if fact.get("started") else {}
    return {**out, **day, "host": host}


def _content(data: pd.DataFrame, more: dict[bytes, str] | None = None) -> bytes:
    """Return a table as a Parquet file; ``more`` is added to its metadata."""
    sink, table = pa.BufferOutputStream(), pa.Table.from_pandas(data, preserve_index=False)
    table = table.replace_schema_metadata({**table.schema.metadata, **(more or {})})
    pq.write_table(table, sink, compression="zstd", compression_level=19)
    content: bytes = sink.getvalue().to_pybytes()
    return content
