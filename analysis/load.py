"""A results folder as one tidy table."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

STATES = ("done", "diverged")


def load(results: str | Path) -> pd.DataFrame:
    """Labels × metrics: a row per run and evaluation, runs in the order of their names.

    The labels are those of summary.json (algo, topology, eta, seed, state, …), the metrics the columns
    of metrics.parquet, or of the stream of a run that has not ended. A run whose files cannot be read
    is left out and named in ``table.attrs["unreadable"]``.
    """
    folders = sorted(path for path in (Path(results) / "runs").glob("*") if path.is_dir())
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(_read, folders))
    unreadable = [folder.name for folder, run in zip(folders, runs, strict=True) if run is None]
    good = [run for run in runs if run is not None]
    table = _table(good)
    table.attrs["unreadable"] = unreadable
    return table


def _read(folder: Path) -> tuple[dict[str, Any], pa.Table] | None:
    """The labels and the metrics of one run."""
    try:
        summary = json.loads((folder / "summary.json").read_bytes())
        labels = dict(list(summary.items())[: list(summary).index("state") + 1])
        if labels["state"] in STATES:
            # not read_table, which looks for a whole dataset of files and takes four times as long
            with pq.ParquetFile(folder / "metrics.parquet") as file:
                return labels, file.read()
        return labels, _stream(folder / "metrics.jsonl")
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return None


def _stream(path: Path) -> pa.Table:
    """The rows of a run that has not ended; the last line may be half-written."""
    rows = []
    for line in path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return pa.Table.from_pylist(rows)


def _table(runs: list[tuple[dict[str, Any], pa.Table]]) -> pd.DataFrame:
    lengths = np.array([len(metrics) for _, metrics in runs], dtype=int)
    if lengths.sum() == 0:
        return pd.DataFrame([labels for labels, _ in runs])
    labels = pd.DataFrame([labels for labels, _ in runs])
    labels = labels.loc[np.repeat(np.arange(len(runs)), lengths)].reset_index(drop=True)
    metrics = pa.concat_tables([metrics for _, metrics in runs if len(metrics)], promote_options="permissive")
    return pd.concat([labels, metrics.to_pandas()], axis=1)
