"""Read a results folder: the runs, their metrics and their manifests."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.results.archive import is_archive, read_archive
from analysis.results.errors import NoData
from analysis.results.index import read_all
from analysis.results.results import Results
from analysis.results.run import read_run
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
    if is_archive(Path(results)):
        kept = read_archive(Path(results))
        table = kept.runs.sort_values("run_id").merge(kept.rows, on="run_id")
        table.attrs["unreadable"] = []
        _warn(kept.runs, [kept.facts[run] for run in kept.runs["run_id"]])
        return table
    if not (Path(results) / "runs").is_dir():
        raise NoData(f"{results} is no results folder: there is no folder {Path(results) / 'runs'}")
    found = read_all(Path(results), run_names(Path(results)), read_run)
    table = pd.DataFrame(found.labels)
    _warn(table, found.made)
    if sum(found.lengths):
        repeated = table.loc[np.repeat(table.index, found.lengths)].reset_index(drop=True)
        table = pd.concat([repeated, found.metrics.to_pandas()], axis=1)
    table.attrs["unreadable"] = found.unreadable
    return table


def _warn(runs: pd.DataFrame, facts: Sequence[Mapping[str, Any]]) -> None:
    for sentence in mixed_software(runs, facts):
        warnings.warn(visible(sentence), stacklevel=3)


def load_folder(results: Path) -> Results:
    """Return all that figures need: the runs, also those without an evaluation, and their manifests."""
    found = read_all(results, run_names(results), read_run)
    names = [labels["run_id"] for labels in found.labels]
    rows = pd.DataFrame({"run_id": [], "step": []})
    if sum(found.lengths):
        column = pd.Series(np.repeat(names, found.lengths), name="run_id")
        rows = pd.concat([column, found.metrics.to_pandas()], axis=1)
    return Results(
        runs=pd.DataFrame(found.labels),
        rows=rows,
        facts=dict(zip(names, _manifests([results / "runs" / name for name in names]), strict=True)),
        unreadable=found.unreadable,
        source=str(results),
        folder=results / "runs",
    )


def _manifests(folders: list[Path]) -> list[dict[str, Any]]:
    """Return the manifests. Parts that are equal in several runs are stored once."""
    seen: dict[str, Any] = {}

    def shared(manifest: dict[str, Any]) -> dict[str, Any]:
        parts = {name: part for name, part in manifest.items() if isinstance(part, dict | list)}
        return {**manifest, **{name: seen.setdefault(repr(part), part) for name, part in parts.items()}}

    return [shared(read_file(folder, "manifest.json")) for folder in folders]
