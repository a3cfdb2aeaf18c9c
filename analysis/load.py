"""A results folder read back: what was run, what was measured, and where the numbers come from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.index import Run, read_all
from analysis.results import Results
from analysis.say import NoData

ENDED = ("done", "diverged")


def load(results: str | Path) -> pd.DataFrame:
    """Labels × metrics: a row per run and evaluation, runs in the order of their names.

    The labels are those of summary.json (algo, topology, eta, seed, state, …), the metrics the columns
    of metrics.parquet, or of the stream of a run that has not ended. A run whose files cannot be read
    is left out and named in ``table.attrs["unreadable"]``.
    """
    if not (Path(results) / "runs").is_dir():
        raise NoData(f"{results} is no results folder: there is no folder {Path(results) / 'runs'}")
    folders = _folders(Path(results))
    runs = read_all(Path(results), folders, read_run)
    table = _rows([run for run in runs if run is not None])
    table.attrs["unreadable"] = _unreadable(folders, runs)
    return table


def load_folder(results: Path) -> Results:
    """The same with everything the figures need: also runs without a row, and what the manifests say."""
    folders = _folders(results)
    runs = read_all(results, folders, read_run)
    good = [(folder, run) for folder, run in zip(folders, runs, strict=True) if run is not None]
    facts = _manifests([folder for folder, _ in good])
    labels = pd.DataFrame([run.labels for _, run in good])
    return Results(
        runs=labels,
        rows=_metrics([run for _, run in good]),
        facts=dict(zip([folder.name for folder, _ in good], facts, strict=True)),
        unreadable=_unreadable(folders, runs),
        source=str(results),
    )


def _folders(results: Path) -> list[Path]:
    with os.scandir(results / "runs") as entries:
        return [Path(path) for path in sorted(entry.path for entry in entries if entry.is_dir())]


def _unreadable(folders: list[Path], runs: list[Run | None]) -> list[str]:
    return [folder.name for folder, run in zip(folders, runs, strict=True) if run is None]


def read_run(folder: Path) -> Run | None:
    """The labels and the metrics of one run."""
    try:
        summary = json.loads((folder / "summary.json").read_bytes())
        labels = dict(list(summary.items())[: list(summary).index("state") + 1])
        labels["run_id"] = folder.name
        if labels["state"] in ENDED:
            # not read_table, which looks for a whole dataset of files and takes four times as long
            content = pa.BufferReader((folder / "metrics.parquet").read_bytes())
            with pq.ParquetFile(content) as file:
                return Run(labels, file.read(use_threads=False))
        return Run(labels, _stream(folder / "metrics.jsonl"), whole=False)
    except (OSError, ValueError, KeyError, AttributeError, pa.ArrowException):
        return None


def _manifests(folders: list[Path]) -> list[dict[str, Any]]:
    """What the manifests say. Most parts are the same in thousands of runs, and are kept once."""
    seen: dict[str, dict[str, Any]] = {}

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return seen.setdefault(str(pairs), dict(pairs))

    def manifest(folder: Path) -> dict[str, Any]:
        try:
            value = json.loads((folder / "manifest.json").read_bytes(), object_pairs_hook=once)
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    return [manifest(folder) for folder in folders]


def _stream(path: Path) -> pa.Table:
    """The rows of a run that has not ended; the last line may be half-written."""
    rows = []
    for line in path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return pa.Table.from_pylist(rows)


def _rows(runs: list[Run]) -> pd.DataFrame:
    """Labels and metrics side by side."""
    labels = pd.DataFrame([run.labels for run in runs])
    lengths = [len(run.metrics) for run in runs]
    if sum(lengths) == 0:
        return labels
    repeated = labels.loc[np.repeat(np.arange(len(runs)), lengths)].reset_index(drop=True)
    return pd.concat([repeated, _metrics(runs).drop(columns="run_id")], axis=1)


def _metrics(runs: list[Run]) -> pd.DataFrame:
    """A row per evaluation, with the run it belongs to."""
    some = [run for run in runs if len(run.metrics)]
    if not some:
        return pd.DataFrame({"run_id": [], "step": []})
    tables = [run.metrics for run in some]
    metrics = pa.concat_tables(tables, promote_options="permissive").to_pandas()
    names = np.repeat([run.labels["run_id"] for run in some], [len(run.metrics) for run in some])
    return pd.concat([pd.Series(names, name="run_id"), metrics], axis=1)
