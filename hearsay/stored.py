"""Checks that a table of runs, which users may edit, has the stored evaluations."""

from __future__ import annotations

import reprlib
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from bench.base.errors import UserError

FOLDER = "folder"
"""The column with the folder of each run, or with the archive or W&B project that it comes from."""
KEY = [FOLDER, "run_id", "step"]
"""The columns that identify an evaluation."""
WHOLE = (
    "Figures and tables use the stored evaluations of the runs. Pass a table of hearsay.sweep or hearsay.load; you can "
    "remove whole runs, as in runs[runs['algo'] == 'dsgd']."
)


def check_source(source: object) -> None:
    """Raise ``UserError`` unless this may be the place of runs."""
    if not isinstance(source, str | Path):
        raise UserError(
            "Runs must be a results folder, an archive, wandb:ENTITY/PROJECT, or a table of hearsay.sweep or "
            f"hearsay.load; got {reprlib.repr(source)}."
        )


def check_columns(runs: pd.DataFrame) -> None:
    """Raise ``UserError`` if a table lacks a column that identifies an evaluation, or a row has no run."""
    if missing := [name for name in KEY if name not in runs]:
        raise UserError(f"The table of runs lacks the column '{missing[0]}'. {WHOLE}")
    for name in (FOLDER, "run_id"):
        if wrong := [value for value in runs[name] if not isinstance(value, str)]:
            raise UserError(f"The table of runs has a row with {name} = {wrong[0]}. {WHOLE}")


def check_stored(given: pd.DataFrame, stored: pd.DataFrame) -> None:
    """Raise ``UserError`` unless a table has all stored evaluations of these runs, with the same values.

    Columns that only one of the tables has are not compared.
    """
    here = [given[name].isin(stored[name].unique()) for name in (FOLDER, "run_id")]
    mine = given[here[0] & here[1]].drop_duplicates(KEY)
    common = [name for name in stored if name in mine and name not in KEY]
    # numbered, since labels and metrics may have any name, also the one of a column of the merged table
    tables = [
        table[[*KEY, *common]].set_axis([*KEY, *(f"{kind} {k}" for k in range(len(common)))], axis=1)
        for kind, table in (("stored", stored), ("given", mine))
    ]
    both = tables[0].merge(tables[1], on=KEY, how="outer", indicator="from")
    if (lacking := both["from"] == "left_only").any():
        run = both.loc[lacking, "run_id"].iloc[0]
        if "state" in given and (given.loc[given["run_id"] == run, "state"] == "failed").all():
            raise UserError(
                f"The run {run} failed in the sweep of this table, but its folder has evaluations of another command. "
                "Remove it from the table, as in runs[runs['state'] != 'failed']."
            )
        count = (lacking & (both["run_id"] == run)).sum()
        raise UserError(f"The table of runs lacks {count} evaluations of the run {run}. {WHOLE}")
    if (foreign := both["from"] == "right_only").any():
        run, step = both.loc[foreign, ["run_id", "step"]].iloc[0]
        raise UserError(f"The table of runs has step = {step} of the run {run}, which has no such evaluation. {WHOLE}")
    for k, name in enumerate(common):
        if (edited := _differ(both[f"stored {k}"], both[f"given {k}"])).any():
            run, value, other = both.loc[edited, ["run_id", f"stored {k}", f"given {k}"]].iloc[0]
            raise UserError(
                f"The table of runs has {name} = {other} of the run {run}. The stored value is {value}. {WHOLE}"
            )


def _differ(values: pd.Series, others: pd.Series) -> np.ndarray:
    """Return where two columns differ. Missing values are equal."""
    one, other = values.notna().to_numpy(), others.notna().to_numpy()
    out, both = one != other, one & other
    kind = float if is_numeric_dtype(values) and is_numeric_dtype(others) else object
    out[both] = values[both].to_numpy(kind) != others[both].to_numpy(kind)
    return out
