"""Verify the files of a run folder. Imports no torch, so that readers of results start fast."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
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
RUNS, ROWS, FACTS = "runs.parquet", "rows.parquet", "facts.json"
"""The files of an archive: runs, evaluations, and the manifests with the digests of both tables."""
MANIFESTS = 1 << 25
"""The largest size of facts.json: parsed, it takes more memory."""
KINDS: dict[str, dict[Any, Kind]] = {"summary.json": SUMMARY, "status.json": STATUS, "manifest.json": MANIFEST}
PARQUET = b"PAR1"
"""The first and last bytes of a Parquet file."""


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
