"""How far the chosen development setting is ahead of the second one (margins.csv)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from analysis.board.choose import ALL, DEV, setting_of
from analysis.results.wording import many

COLUMNS = ["method", "setting", "second", "ahead", "error"]


def margins(found: pd.DataFrame, chosen: pd.DataFrame) -> pd.DataFrame:
    """Return for each entrant how much its development setting is ahead of the second one, with its standard error.

    ``found`` are the development runs with their scores. The error is that of the mean over the seeds, at which the
    scores of the two settings are paired.
    """
    rows = []
    settings = {
        row["method"]: setting_of({str(name): value for name, value in row.items()})
        for row in chosen[(chosen["ruleset"] == DEV) & (chosen["workload"] == ALL)].to_dict("records")
    }
    for name, runs in found[found["whole"]].groupby("entrant", sort=False):
        scores = runs.pivot_table("score", "seed", "setting", aggfunc="mean")
        if settings.get(name) not in scores or scores.shape[1] < 2:
            continue
        second = scores.mean().drop(settings[name]).idxmax()
        gaps = scores[settings[name]] - scores[second]
        error = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
        rows.append([name, settings[name], second, float(gaps.mean()), error])
    return pd.DataFrame(rows, columns=COLUMNS)


def margins_markdown(table: pd.DataFrame, label: Callable[[str], str]) -> Iterable[str]:
    """Yield the lines that name the methods whose development setting is hardly ahead."""
    close = table[table["ahead"] < table["error"]]
    names = ", ".join(f"{label(one.method)} ({one.setting}, or {one.second})" for one in close.itertuples())
    yield ""
    yield "## How sure is the one setting?"
    yield ""
    yield (
        f"The development setting of {many(len(close), 'method')} of {len(table)} is less than one standard error "
        "ahead of the second one, so that other seeds may choose the other one. The intervals do not cover this. "
        f"margins.csv has all. {names}{'.' if names else ''}".rstrip()
    )
