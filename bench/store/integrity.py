"""Whether what lies in a run folder is what was written there; without torch, for everyone who reads results."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.base import renamed
from bench.store.files import check_json, check_rows, sha256
from bench.store.kinds import MANIFEST, NEEDED, ROW, STATUS, SUMMARY, Kind, odd
from bench.store.record import COLUMNS, FINAL, divided
from bench.store.regular import LINK, TABLE, content_of
from bench.store.software import MADE

SUMS = "sha256"
"""In summary.json, after the metrics: the digests of the files that carry none themselves."""
FOREIGN = "is not what was written"
KINDS: dict[str, dict[Any, Kind]] = {"summary.json": SUMMARY, "status.json": STATUS, "manifest.json": MANIFEST}
LARGEST = 1 << 24
"""Bytes of a JSON file of a run: once it is read, it takes up to thirty times as many."""
VALUES = 100_000_000
"""Numbers that a table may have: a file of a few kilobytes can say that it has more than any memory."""
PARQUET, ROWS = b"PAR1", 100
"""What a Parquet file begins and ends with, and rows that are read at a time where texts are among them."""
UNREADABLE = (OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError, NotImplementedError)
"""All that Arrow raises."""


class Damaged(Exception):
    """A run folder that is not what was written there, in a sentence."""


@dataclass
class Findings:
    """What a run folder holds, as far as it can be believed."""

    status: dict[str, Any]
    summary: dict[str, Any]
    metrics: bytes | None = None  # metrics.parquet of a run that has ended
    rows: list[dict[str, Any]] = field(default_factory=list)  # the stream of one that has not
    sealed: bool = False  # whether the metrics were held against a digest
    damaged: dict[str, str] = field(default_factory=dict)  # what is wrong, by the file's name
    own: Collection[str] = ()  # the metrics of plug-ins
    made: dict[str, Any] = field(default_factory=dict)  # what the manifest says of the software

    @property
    def ended(self) -> bool:
        return self.summary.get("state") in FINAL

    @cached_property
    def _divided(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return divided(self.summary, self.own)

    @property
    def labels(self) -> dict[str, Any]:
        """What the run was, and the state."""
        return self._divided[0]

    @property
    def final(self) -> dict[str, Any]:
        """The latest metrics."""
        return self._divided[1]

    def sentence(self) -> str:
        """Everything that is wrong."""
        return "; ".join(f"{name} {wrong}" for name, wrong in self.damaged.items()) + "."


def examine(folder: Path) -> Findings:
    """Read a run folder and hold every file against its digest.

    What is missing is damage only where the numbers are: a folder may be looked at while it is written.
    """
    damaged: dict[str, str] = {}
    place = str(folder)
    if os.path.islink(place):  # noqa: PTH114  a Path takes four times as long
        return Findings({}, {}, damaged={"the folder of the run": f"cannot be used: {LINK}"})
    status, summary = (_json(place, name, damaged) for name in ("status.json", "summary.json"))
    manifest = _json(place, "manifest.json", damaged)
    for name, content in (("summary.json", summary), ("manifest.json", manifest)):
        if content.get("run_id", folder.name) != folder.name:  # earlier manifests have none
            damaged[name] = f"is that of another run, {content['run_id']}"
    sums = summary.pop(SUMS, None)
    own = manifest.get("metrics", {})
    if labels := [name for name in own if name in SUMMARY and name not in COLUMNS]:
        damaged["manifest.json"] = f"names a metric '{labels[0]}', which is a label"
    found = Findings(status, summary, damaged=damaged, own=() if labels else own)
    found.made = {name: manifest[name] for name in MADE if name in manifest}
    if "summary.json" not in damaged and (wrong := _no_summary(found)):
        damaged["summary.json"] = wrong
    if "summary.json" in damaged:
        return found
    if found.ended:
        _examine_end(place, found, sums)
    else:
        found.rows, wrong = check_rows(folder / "metrics.jsonl")
        if wrong:
            damaged["metrics.jsonl"] = wrong
    return found


def _no_summary(found: Findings) -> str | None:
    """Why an object cannot be a summary."""
    if "state" not in found.summary:
        return FOREIGN if found.summary else "is missing"
    if lacking := [name for name in NEEDED if name not in found.summary]:
        return f"has no '{lacking[0]}'"
    return odd({name: found.final[name] for name in found.own if name in found.final}, ROW)


def checked(path: str, name: str) -> tuple[dict[str, Any], str | None]:
    """What one of the three JSON files of a run says, and what is wrong with it."""
    value, wrong = check_json(f"{path}/{name}", LARGEST)
    wrong = wrong or odd(value, KINDS[name])
    return ({}, wrong) if wrong else (renamed.columns(value), None)


def read_file(folder: Path, name: str) -> dict[str, Any]:
    """The same; an empty dictionary where there is nothing to read or to believe."""
    return {} if folder.is_symlink() else checked(str(folder), name)[0]


def _json(folder: str, name: str, damaged: dict[str, str]) -> dict[str, Any]:
    value, wrong = checked(folder, name)
    if wrong:
        damaged[name] = wrong
    return value


def _examine_end(folder: str, found: Findings, sums: object) -> None:
    """The files whose digests the summary has; of earlier versions, what can be compared."""
    try:
        found.metrics = content_of(f"{folder}/metrics.parquet", TABLE)
    except OSError as error:
        found.damaged["metrics.parquet"] = f"cannot be read: {error.strerror or error}"
        return
    if isinstance(sums, dict):
        found.sealed = True
        if sha256(found.metrics) != sums.get("metrics.parquet"):
            found.damaged["metrics.parquet"] = FOREIGN
        elif not _is_parquet(found.metrics):
            found.damaged["metrics.parquet"] = "is not a Parquet file"
        try:
            if sha256(content_of(f"{folder}/config.yaml")) != sums.get("config.yaml"):
                found.damaged["config.yaml"] = FOREIGN
        except FileNotFoundError:
            pass
        except OSError as error:
            found.damaged["config.yaml"] = f"cannot be read: {error.strerror or error}"
    elif wrong := _implausible(found.metrics, found):
        found.damaged |= dict.fromkeys(("metrics.parquet", "summary.json"), wrong)


def _is_parquet(content: bytes) -> bool:
    """Whether it begins and ends as such a file. A closer look would take Arrow, which is slow to import."""
    return content[:4] == content[-4:] == PARQUET and 0 < int.from_bytes(content[-8:-4], "little") <= len(content) - 12


def read_table(content: bytes, texts: bool = False) -> Any:
    """The table of a parquet file, its pages held against their checksums where it has them; numbers, unless ``texts``
    may be among them."""
    import pyarrow as pa  # here: who only looks at states need not wait for it
    import pyarrow.parquet as pq

    # not pq.read_table, which looks for a whole dataset of files and takes four times as long
    with pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True) as file:
        if not 0 <= (said := file.metadata).num_rows * said.num_columns <= VALUES:
            raise ValueError(f"{said.num_rows} rows of {said.num_columns} numbers are more than a table may have")
        if not texts and not all(map(_is_number, file.schema_arrow.types)):
            raise ValueError("a column is not made of numbers")
        # tables are small: threads would cost more than they read
        table = pa.Table.from_batches(_batches(file), file.schema_arrow) if texts else file.read(use_threads=False)
        return table.rename_columns([renamed.column(name) for name in table.column_names])


def _batches(file: Any) -> Iterator[Any]:
    """The rows of a file, as long as they are no larger than a table: a few bytes can stand for gigabytes of text."""
    size = 0
    for batch in file.iter_batches(ROWS, use_threads=False):
        size += batch.nbytes
        if size > TABLE:
            raise ValueError(f"its texts take more than {TABLE / 1e9:.3g} GB")
        yield batch


def _is_number(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind) or kinds.is_null(kind))


def _implausible(content: bytes, found: Findings) -> str | None:
    """What is wrong with metrics that have no digest: they must open, and end as the summary does."""
    try:
        columns = read_table(content).to_pydict()
    except UNREADABLE as error:
        return f"cannot be read: {type(error).__name__}"
    steps = columns.get("step", [])
    if not steps or any(not isinstance(t, int) for t in steps) or steps != sorted(set(steps)):
        return "has not the rows that it should have"
    if found.summary["state"] != "nonfinite" and steps[-1] != found.summary.get("steps", steps[-1]):
        return "does not reach the last step"
    ends = {name: found.summary[name] for name in {*columns, *found.final} if name in found.summary}
    if ends != {name: _null(values[-1]) for name, values in columns.items()}:
        return "disagrees: the last row of metrics.parquet is not what summary.json ends with"
    return None


def _null(value: Any) -> Any:
    """As JSON has it: no NaN, no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
