"""The states of runs, by the present rule: older versions stored diverging runs as done."""

from __future__ import annotations

import pandas as pd

from analysis.results.columns import with_columns
from bench.base.evaluation import DIVERGING_FROM, rose


def risen(rows: pd.DataFrame, factor: float = DIVERGING_FROM) -> set[str]:
    """Return the runs whose training loss rose by more than ``factor`` times its initial value."""
    if "train_loss" not in rows:
        return set()
    first, last = (
        rows.drop_duplicates("run_id", keep=which).set_index("run_id")["train_loss"].astype(float)
        for which in ("first", "last")
    )
    return set(first.index[rose(first, last, factor)])


def with_states(runs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with the state ``diverging`` where an older version, or an archive of it, has ``done``."""
    if "state" not in runs or not (gone := risen(rows)):
        return runs
    old = runs["run_id"].isin(gone) & (runs["state"] == "done")
    return with_columns(runs, {"state": runs["state"].mask(old, "diverging")}) if old.any() else runs
