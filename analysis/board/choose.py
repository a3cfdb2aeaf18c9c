"""The chosen settings (chosen.csv): tuned on each workload, one development setting for all, and native constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.board.cells import Curve, named
from analysis.board.scoring import CostOf, Judge, at_price, yardstick_runs
from analysis.board.targets import aims_of
from analysis.results.errors import NoData
from analysis.study.score import Price
from bench.base.board import TUNING, YARDSTICK, Board, Workload

TUNED, DEV, NATIVE = RULESETS = ("tuned", "dev", "native")
ALL = "all"
"""The workload of a setting that is used on all workloads."""
OPTION = "algo."
CHOICE = "gradients"
"""The price at which settings are chosen."""
EQUAL = 1e-9
"""Mean scores that differ by less are a tie."""


def graded(
    board: Board,
    workloads: Iterable[Workload],
    table: pd.DataFrame,
    curves: Mapping[str, Curve],
    frozen: pd.DataFrame,
    cost_of: CostOf | None = None,
) -> pd.DataFrame:
    """Return the runs of the tuning seeds with their score in gradients.

    ``yardstick`` marks tuned D-SGD, and ``whole`` the settings with all tuning seeds. ``cost_of`` is another cost than
    gradients.
    """
    cost_of = cost_of or at_price(curves, Price(**board.prices[CHOICE]))
    rows, parts = frozen.set_index("workload", drop=False), []
    for workload in workloads:
        mine = table[(table["workload"] == workload.name) & table["seed"].isin(workload.seeds[TUNING])]
        if mine.empty:
            continue
        if workload.name not in rows.index:
            raise NoData(f"targets.csv has no row for {workload.name}; repeat make_board.py targets")
        aims = aims_of(rows.loc[workload.name].to_dict(), mine, curves)
        judge = Judge(workload, aims, curves, cost_of, board.targets)
        ours = yardstick_runs(judge, mine)
        scored = judge.scored(mine, ours)
        tried = scored.groupby(["entrant", "setting"])["seed"].transform("nunique") == len(workload.seeds[TUNING])
        parts.append(scored.assign(yardstick=scored["run_id"].isin(ours["run_id"]), whole=tried))
    if not parts:
        raise NoData("no run with a tuning seed was found")
    return pd.concat(parts, ignore_index=True)


def choose_tuned(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the setting with the best mean score of each entrant on each workload; D-SGD keeps that of the yardstick.

    Settings that lack a tuning seed do not count. Ties go to the least mean final loss.
    """
    out = []
    for (workload, entrant), runs in found[found["whole"]].groupby(["workload", "entrant"], sort=False):
        setting, tied = best_setting(runs.groupby("setting")["score"].mean(), runs)
        if entrant == YARDSTICK:  # chosen by its costs, since its score is relative to itself
            logs = pd.Series([-np.log2(costs).mean() for costs in runs["costs"]], index=runs["setting"])
            _, tied = best_setting(logs.groupby(level=0).mean(), runs)
            setting = str(runs.loc[runs["yardstick"], "setting"].iloc[0])
        score = float(runs.loc[runs["setting"] == setting, "score"].mean())
        out.append(_row(TUNED, str(workload), runs, setting, score, tied))
    return out


def choose_dev(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one setting per entrant: the best mean score over the problems. A diverged run misses all targets."""
    out, problems = [], found["workload"].nunique()
    for _, runs in found[found["whole"]].groupby("entrant", sort=False):
        parts = runs.pivot_table("score", "setting", "workload", aggfunc="mean").dropna()
        if parts.shape[1] < problems or parts.empty:
            continue
        means = parts.mean(axis=1)
        setting, tied = best_setting(means, runs)
        out.append(_row(DEV, ALL, runs, setting, float(means.max()), tied))
    return out


def best_setting(means: pd.Series, runs: pd.DataFrame) -> tuple[str, int]:
    """Return the setting with the highest mean and how many share it; ties go to the least mean final loss of the runs.

    Settings tie if none of them reaches a target. Then their order says nothing about the grid.
    """
    tied = [str(name) for name in means.index[means >= means.max() - EQUAL]]
    finals = runs.groupby("setting")["final"].mean()
    return min(tied, key=lambda name: (finals[name], name)), len(tied)


def native(board: Board) -> list[dict[str, Any]]:
    """Return the settings of the entrants that leave no number to choose."""
    return [
        {"ruleset": NATIVE, "workload": ALL, "method": entrant.name, **entrant.native}
        for entrant in board.everyone.values()
        if entrant.native is not None
    ]


def as_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the rows with the columns in a fixed order: the options, such as algo.eta, come after the method."""
    options = sorted({name for row in rows for name in row if name.startswith(OPTION)})
    return pd.DataFrame(rows, columns=["ruleset", "workload", "method", *options, "score", "diverged", "tied", "edges"])


def setting_of(row: Mapping[str, Any]) -> str:
    """Return the setting of a row of chosen.csv in the words of ``cells.named``."""
    return named({k.removeprefix(OPTION): v for k, v in row.items() if k.startswith(OPTION) and pd.notna(v)})


def differing(given: pd.DataFrame, right: pd.DataFrame) -> str:
    """Return the first row of ``chosen.csv`` that has another setting than the right one; empty if there is none."""
    keys = ["ruleset", "workload", "method"]
    rows = (table.to_dict("records") for table in (given, right))
    said, due = ({tuple(row[key] for key in keys): setting_of(row) for row in some} for some in rows)
    for key in sorted(said.keys() | due.keys()):
        if said.get(key) != due.get(key):
            return f"{' '.join(key)} has {said.get(key, 'no setting')} instead of {due.get(key, 'none')}"
    return ""


def _typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as on the command line: eta is algo.eta."""
    return {OPTION + name: value for name, value in values.items()}


def _row(ruleset: str, workload: str, runs: pd.DataFrame, setting: str, score: float, tied: int) -> dict[str, Any]:
    """Return a row of chosen.csv; ``tied``: settings that share the best score, which then has no edge."""
    mine = runs[runs["setting"] == setting]
    values = dict(mine["values"].iloc[0])
    row = {"ruleset": ruleset, "workload": workload, "method": runs["entrant"].iloc[0], **_typed(values)}
    edges = _edges(runs, values) if tied == 1 else ""
    return {**row, "score": round(score, 4), "diverged": int(mine["diverged"].sum()), "tied": tied, "edges": edges}


def _edges(runs: pd.DataFrame, values: Mapping[str, Any]) -> str:
    """Return the end of the grid at which the chosen number lies, such as "eta low"; empty if it lies inside."""
    out = []
    for name, value in values.items():
        if isinstance(value, str):
            continue
        # each schedule may have its own grid
        tried = {
            each[name]
            for each in runs["values"]
            if name in each and all(each.get(k) == v for k, v in values.items() if isinstance(v, str))
        }
        if len(tried) > 1 and value in (min(tried), max(tried)):
            out.append(f"{name} {'low' if value == min(tried) else 'high'}")
    return ", ".join(out)
