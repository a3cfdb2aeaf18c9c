"""Hidden numbers (hidden.csv): what the score changes if one number from the paper is three times as large or small."""

from __future__ import annotations

import math
from typing import NamedTuple

import pandas as pd

from analysis.board.cells import cells, curves
from analysis.board.choose import TUNED, graded, setting_of
from analysis.results.results import Results
from bench.base.board import YARDSTICK, Board

KEYS = ["method", "number"]
CHANGE = "change"


class Extremes(NamedTuple):
    """The worst and the best change of an entrant's score, with the numbers that made them."""

    worst: float
    worst_by: str
    best: float
    best_by: str


def hidden(results: Results, board: Board, chosen: pd.DataFrame, frozen: pd.DataFrame) -> pd.DataFrame:
    """Return one row per entrant and changed number: the change of its tuned score on each workload, and their mean.

    Both scores are in gradients and have the seeds of the changed runs.
    """
    some = {name: board.workloads[name] for name in board.hidden["workloads"] if name in board.workloads}
    columns = [*KEYS, *some, CHANGE]
    usual, other = cells(results, board, some), cells(results, board, some, changed=1)
    # a variant of D-SGD is no entrant, and would be a candidate for the yardstick
    other = other[other["changed"].map(_is_number) & (other["entrant"] != YARDSTICK)]
    if other.empty:
        return pd.DataFrame(columns=columns)
    both = pd.concat([usual.assign(changed=""), other], ignore_index=True)
    found = graded(board, some.values(), both, curves(results, both, some), frozen)
    found = found[_at(found, chosen) & found["seed"].isin(board.hidden["seeds"])]
    scores = found.set_index(["workload", "entrant", "seed", "changed"])["score"].unstack()
    changes = scores.sub(scores[""], axis=0).drop(columns="").groupby(level=["workload", "entrant"]).mean()
    table = changes.stack().dropna().unstack("workload").reindex(columns=list(some))
    table[CHANGE] = table.mean(axis=1, skipna=False)
    return table.rename_axis(KEYS).reset_index().sort_values(KEYS)[columns].reset_index(drop=True)


def extremes(table: pd.DataFrame) -> dict[str, Extremes]:
    """Return the worst and the best change of every entrant, over the numbers with runs on all workloads."""
    out = {}
    for name, some in table.dropna(subset=[CHANGE]).groupby("method", sort=False):
        low, high = some.loc[some[CHANGE].idxmin()], some.loc[some[CHANGE].idxmax()]
        out[str(name)] = Extremes(float(low[CHANGE]), low["number"], float(high[CHANGE]), high["number"])
    return out


def _at(runs: pd.DataFrame, chosen: pd.DataFrame) -> pd.Series:
    """Return which runs have the tuned setting of their entrant on their workload."""
    tuned = {
        (row["workload"], row["method"]): setting_of({str(name): value for name, value in row.items()})
        for row in chosen[chosen["ruleset"] == TUNED].to_dict("records")
    }
    keys = zip(runs["workload"], runs["entrant"], strict=True)
    return runs["setting"] == pd.Series([tuned.get(key) for key in keys], index=runs.index)


def _is_number(changed: str) -> bool:
    """Return whether the changed option is a number, such as beta=0.7."""
    try:
        return math.isfinite(float(changed.partition("=")[2]))
    except ValueError:
        return False
