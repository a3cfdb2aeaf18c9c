"""Read a results folder: the runs, their metrics and their manifests."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.results.archive import is_archive, read_archive
from analysis.results.block import Found
from analysis.results.errors import NoData
from analysis.results.index import read_all
from analysis.results.results import Results
from analysis.results.states import with_states
from analysis.results.warnings import mixed_software
from bench.store.integrity import read_file
from bench.store.regular import run_names
from bench.terminal.visible import visible


def load(results: str | Path) -> pd.DataFrame:
    """Return all runs of a results folder or an archive as one table, one row per run and evaluation.

    The columns are the labels of summary.json (algo, topology, eta, seed, state, …) and the metrics of
    metrics.parquet, or of the stream of a run that has not ended. It warns if runs were made with different software.

    Args:
        results: A results folder, which contains the folder ``runs``, or an archive of one.

    Returns:
        The table, sorted by run. Unreadable runs are skipped and named in ``table.attrs["unreadable"]``.

    Raises:
        NoData: The path is neither a results folder nor an archive.

    Example:
        >>> table = load("results")
        >>> table.groupby("algo")["train_loss"].min()
    """
    path, unreadable = Path(results), list[str]()
    if is_archive(path):
        archive = read_archive(path)
        made = [archive.facts[run] for run in archive.runs["run_id"]]
        runs, unreadable = archive.runs, archive.unreadable
        table = runs.sort_values("run_id").merge(archive.rows, on="run_id")
    elif (path / "runs").is_dir():
        found = read_all(path, run_names(path))
        made, unreadable = found.made, found.unreadable
        rows = _evaluations(found)
        runs = table = with_states(pd.DataFrame(found.labels), rows)
        if len(rows):
            repeated = runs.loc[np.repeat(runs.index, found.lengths)].reset_index(drop=True)
            table = pd.concat([repeated, rows.drop(columns="run_id")], axis=1)
    else:
        raise NoData(f"{results} is not a results folder: it has no folder 'runs'")
    for sentence in mixed_software(runs, made):
        warnings.warn(visible(sentence), stacklevel=2)
    table.attrs["unreadable"] = unreadable
    return table


def load_folder(results: Path, runs: Sequence[str] | None = None) -> Results:
    """Return the runs with these names (None: all), also those without an evaluation, with metrics and manifests."""
    found = read_all(results, run_names(results) if runs is None else runs)
    facts: dict[str, dict[str, Any]] = {}
    seen: dict[str, Any] = {}  # entries that are equal in several manifests are stored once
    for name in (labels["run_id"] for labels in found.labels):
        manifest = read_file(results / "runs" / name, "manifest.json")
        parts = {key: part for key, part in manifest.items() if isinstance(part, dict | list)}
        facts[name] = {**manifest, **{key: seen.setdefault(repr(part), part) for key, part in parts.items()}}
    runs, rows, where = pd.DataFrame(found.labels), _evaluations(found), results / "runs"
    return Results(runs, rows, facts, found.unreadable, str(results), folder=where, reasons=found.reasons)


def _evaluations(found: Found) -> pd.DataFrame:
    """Return one row per run and evaluation, with its metrics."""
    if not sum(found.lengths):
        return pd.DataFrame({"run_id": [], "step": []})
    names = [labels["run_id"] for labels in found.labels]
    column = pd.Series(np.repeat(names, found.lengths), name="run_id")
    return pd.concat([column, found.metrics.to_pandas()], axis=1)
