"""Runs that several sources have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.results.errors import NoData
from analysis.results.results import Results
from bench.store.record import FINAL

CLOSE = 1e-5
"""Relative difference up to which numbers are equal: archives have single precision."""
TINY = 1e-12
"""Absolute difference up to which numbers are equal: a consensus error of 1e-30 is a rounding error."""
TIMES = ("compute_s", "comm_s", "eval_s", "wall_s")
"""Metrics that differ whenever a run is repeated."""


def together(parts: Sequence[Results]) -> Results:
    """Merge results. Of duplicate runs, ended ones win; among equals, that of the first part wins."""
    ended = [{*part.runs.loc[part.runs["state"].isin(FINAL), "run_id"]} for part in parts]
    complete = set[str]().union(*ended)
    fresh, seen = [], set[str]()
    for part, mine in zip(parts, ended, strict=True):
        fresh.append(part.of(part.runs[~part.runs["run_id"].isin(seen | (complete - mine))]))
        seen |= {*fresh[-1].runs["run_id"]}
    labels, metrics = {c for part in fresh for c in part.runs}, {c for part in fresh for c in part.rows}
    if both := sorted(labels & metrics - {"run_id"}):
        raise NoData(f"{both[0]!r} is a metric of some runs and a label of others; these runs cannot be merged")
    return Results(
        pd.concat([part.runs for part in fresh], ignore_index=True),
        pd.concat([part.rows for part in fresh], ignore_index=True),
        {run: part.facts[run] for part in fresh for run in part.runs["run_id"] if run in part.facts},
        [one for part in parts for one in part.unreadable if one not in complete],
        ", ".join(part.source for part in parts),
        reasons={run: reason for part in reversed(parts) for run, reason in part.reasons.items()},
    )


def contradicting(parts: Sequence[Results]) -> list[str]:
    """Return the runs whose numbers differ from those of the first part that has them."""
    first, out = dict[str, pd.DataFrame](), list[str]()
    for part in parts:
        ended = part.runs.loc[part.runs["state"].isin(FINAL), "run_id"]
        for run, rows in part.rows[part.rows["run_id"].isin(ended)].groupby("run_id", sort=False):
            if (known := first.setdefault(str(run), rows)) is not rows and _differ(known, rows):
                out.append(str(run))
    return sorted({*out})


def _differ(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether two runs have other evaluations, or other numbers in a metric that both have."""
    if len(one) != len(other):
        return True
    names = [name for name in one if name in other and name not in ("run_id", *TIMES)]
    a, b = (rows[names].to_numpy(dtype=float, na_value=np.nan) for rows in (one, other))
    return not np.allclose(a, b, rtol=CLOSE, atol=TINY, equal_nan=True)
