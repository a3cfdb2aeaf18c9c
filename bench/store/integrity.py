"""Verify the files of a run folder. Imports no torch, so that readers of results start fast."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.base import renamed
from bench.store.files import FOREIGN, LARGEST, check_json, check_rows, sha256
from bench.store.kinds import MANIFEST, NEEDED, RESERVED, ROW, STATUS, SUMMARY, Kind, odd, twice
from bench.store.record import FINAL, divided
from bench.store.regular import LINK, TABLE, content_of
from bench.store.software import MADE

SUMS = "sha256"
"""In summary.json: the digests of metrics.parquet and config.yaml, and the id of the start in the manifest."""
START = "start"
FACTS = "facts.json"
"""In an archive: its manifests and the digests of its tables."""
KINDS: dict[str, dict[Any, Kind]] = {"summary.json": SUMMARY, "status.json": STATUS, "manifest.json": MANIFEST}
VALUES, VALUES_WITH_TEXTS = 100_000_000, 20_000_000
"""Maximal numbers of values of a table of numbers and of a table with texts: a forged file of a few kilobytes can
declare more than fits in memory."""
EVALUATIONS, ARCHIVED = 1_000_000, 20_000_000
"""Maximal numbers of evaluations of a run, which are the rows of its table, and of evaluations in an archive."""
NUMBERS, TEXTS = ("bool", "int32", "int64", "float", "double", "null"), ("string", "large_string")
"""The types of columns in Arrow's words, where a float has 32 bits."""
PARQUET, ROWS = b"PAR1", 100
"""The first and last bytes of a Parquet file, and the rows per batch of a table with texts."""
UNREADABLE = (OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError, NotImplementedError)
"""The errors of Arrow, except pyarrow.ArrowException itself: this module does not import Arrow."""


class Damaged(Exception):
    """A run folder has damaged files."""


@dataclass
class Findings:
    """The verified content of a run folder."""

    status: dict[str, Any]
    summary: dict[str, Any]
    metrics: bytes | None = None  # metrics.parquet of a finished run
    rows: list[dict[str, Any]] = field(default_factory=list)  # metrics.jsonl of an unfinished run
    damaged: dict[str, str] = field(default_factory=dict)  # the damage, by file name
    own: Collection[str] = ()  # the metrics of plug-ins
    made: dict[str, Any] = field(default_factory=dict)  # the software, from the manifest

    @property
    def ended(self) -> bool:
        return self.summary.get("state") in FINAL

    @cached_property
    def _divided(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return divided(self.summary, self.own)

    @property
    def labels(self) -> dict[str, Any]:
        """The settings and the state of the run."""
        return self._divided[0]

    @property
    def final(self) -> dict[str, Any]:
        """The latest metrics."""
        return self._divided[1]

    def sentence(self) -> str:
        """Return all damage as one sentence."""
        return "; ".join(f"{name} {wrong}" for name, wrong in self.damaged.items()) + "."


def examine(folder: Path) -> Findings:
    """Read a run folder and compare every file with its digest.

    Of the missing files, only those with numbers count as damage: another process may be writing the folder.
    """
    damaged: dict[str, str] = {}
    place = str(folder)
    if os.path.islink(place):  # noqa: PTH114  Path.is_symlink is four times slower
        return Findings({}, {}, damaged={"the folder of the run": f"cannot be used: {LINK}"})
    # the summary last: a process that starts the run again replaces it before the manifest
    status, manifest, summary = (_json(place, f"{name}.json", damaged) for name in ("status", "manifest", "summary"))
    for name, content in (("summary.json", summary), ("manifest.json", manifest)):
        if content.get("run_id", folder.name) != folder.name:
            damaged[name] = f"belongs to another run, {content['run_id']}"
    sums = summary.pop(SUMS, None)
    if manifest and isinstance(sums, dict) and sums.get(START, manifest.get(START)) != manifest.get(START):
        damaged["manifest.json"] = "belongs to another start of the run"
    own = manifest.get("metrics", {})
    if labels := [name for name in own if name in RESERVED]:
        damaged["manifest.json"] = f"has a metric '{labels[0]}', which is the name of a label"
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
    """Return why the object in summary.json is not a summary, if so."""
    if "state" not in found.summary:
        return FOREIGN if found.summary else "is missing"
    if lacking := [name for name in NEEDED if name not in found.summary]:
        return f"has no '{lacking[0]}'"
    return twice(found.summary) or odd({name: found.final[name] for name in found.own if name in found.final}, ROW)


def checked(path: str, name: str) -> tuple[dict[str, Any], str | None]:
    """Return the object in one of the three JSON files of a run, and the damage, if any."""
    value, wrong = check_json(f"{path}/{name}", LARGEST)
    wrong = wrong or odd(value, KINDS[name])
    return ({}, wrong) if wrong else (renamed.columns(value), None)


def read_file(folder: Path, name: str) -> dict[str, Any]:
    """Return the object in a JSON file of a run; empty if the file is missing or damaged."""
    return {} if folder.is_symlink() else checked(str(folder), name)[0]


def _json(folder: str, name: str, damaged: dict[str, str]) -> dict[str, Any]:
    value, wrong = checked(folder, name)
    if wrong:
        damaged[name] = wrong
    return value


def _examine_end(folder: str, found: Findings, sums: object) -> None:
    """Compare metrics.parquet and config.yaml with their digests in the summary."""
    sums = sums if isinstance(sums, dict) else {}
    try:
        found.metrics = content_of(f"{folder}/metrics.parquet", TABLE)
    except OSError as error:
        found.damaged["metrics.parquet"] = f"cannot be read: {error.strerror or error}"
        return
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


def _is_parquet(content: bytes) -> bool:
    """Check the first and last bytes only: Arrow, which checks all of it, is slow to import."""
    return content[:4] == content[-4:] == PARQUET and 0 < int.from_bytes(content[-8:-4], "little") <= len(content) - 12


def read_table(
    content: bytes,
    texts: bool = False,
    *,
    columns: Collection[str] | None = None,
    rows: int = EVALUATIONS,
) -> Any:
    """Return the table of a Parquet file.

    Args:
        content: The bytes of the file.
        texts: Whether columns may be texts; otherwise, all columns must be numbers.
        columns: The columns to read, by their present names; None: all.
        rows: The maximal number of rows.

    Raises:
        ValueError: The table is too large, or a column has another type. Other errors are in ``UNREADABLE``.
    """
    import pyarrow as pa  # here, since it is slow and status.py does not need it
    import pyarrow.parquet as pq

    # pq.read_table looks for a dataset of several files and is four times slower
    with pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True) as file:
        limits = {"rows": rows, "values": VALUES_WITH_TEXTS if texts else VALUES}
        for size, (name, most) in zip(_size(file.metadata), limits.items(), strict=True):
            if size > most:
                raise ValueError(f"a table has {size} {name}; the limit is {most}")
        for column in file.schema_arrow:
            if str(column.type) not in (*NUMBERS, *TEXTS * texts):
                wrong = f"the column {reprlib.repr(column.name)} has the type {reprlib.repr(str(column.type))}"
                raise ValueError(f"{wrong}; allowed are {', '.join((*NUMBERS, *TEXTS * texts))}")
        all_names = file.schema_arrow.names
        names = None if columns is None else [name for name in all_names if renamed.column(name) in columns]
        if texts:
            parts = [*_batches(file, names)]
            table = pa.Table.from_batches(parts, parts[0].schema if parts else file.schema_arrow)
            table.validate(full=True)  # Arrow does not check the encoding of texts while reading
        else:  # tables are small, and threads would be slower
            table = file.read(names, use_threads=False)
        return table.rename_columns([renamed.column(name) for name in table.column_names])


def unsealed(facts: list[dict[str, Any]], tables: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Return the manifests of an archive; ``ValueError`` if the tables do not have the digests after them.

    Archives of earlier versions have no digests.
    """
    if not facts or [*facts[-1]] != [SUMS]:
        return facts
    if other := [name for name, content in tables.items() if facts[-1][SUMS].get(name) != sha256(content)]:
        raise ValueError(
            f"{other[0]} does not belong to {FACTS}; an update may have been interrupted. If there is a file "
            f".{other[0]}.* beside it, rename that to {other[0]}; else write the archive again with "
            "python analysis/archive.py"
        )
    return facts[:-1]


def _batches(file: Any, names: Sequence[str] | None) -> Iterator[Any]:
    """Yield the rows of a file up to the maximal size of a table: a small file can expand to gigabytes of text."""
    size = 0
    for batch in file.iter_batches(ROWS, columns=names, use_threads=False):
        size += batch.nbytes
        if size > TABLE:
            raise ValueError(f"its texts take more than {TABLE / 1e9:.3g} GB")
        yield batch


def _size(file: Any) -> tuple[int, int]:
    """Return the rows and values of a file by its row groups, which Arrow reads; the count of rows may be forged."""
    groups = [file.row_group(number) for number in range(file.num_row_groups)]
    counts = [[group.column(number).num_values for number in range(group.num_columns)] for group in groups]
    if min((0, *(count for some in counts for count in some))) < 0 or file.num_rows < 0:
        raise ValueError("it has a negative number of values")
    rows = max(file.num_rows, sum(max(some, default=0) for some in counts))
    return rows, max(sum(map(sum, counts)), file.num_rows * file.num_columns)
