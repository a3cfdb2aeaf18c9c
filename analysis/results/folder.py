"""A results folder read back: what was run, what was measured, and where the numbers come from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.results.errors import NoData
from analysis.results.index import read_all
from analysis.results.results import Results
from analysis.results.run import Run, read_run
from bench.base.files import read_json


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


def _manifests(folders: list[Path]) -> list[dict[str, Any]]:
    """What the manifests say. Most parts are the same in thousands of runs, and are kept once."""
    seen: dict[str, Any] = {}

    def shared(manifest: dict[str, Any]) -> dict[str, Any]:
        parts = {name: part for name, part in manifest.items() if isinstance(part, dict | list)}
        return {**manifest, **{name: seen.setdefault(repr(part), part) for name, part in parts.items()}}

    return [shared(read_json(folder / "manifest.json")) for folder in folders]


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
