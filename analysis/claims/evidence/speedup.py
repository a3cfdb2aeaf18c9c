"""Linear speed-up: how the mean gradient norm falls with nodes and steps."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, evidence
from analysis.results.results import Results
from analysis.study.families import speedup_runs
from analysis.study.statistics import slope


@evidence
def exponent_of_nodes(results: Results, schedule: str, last: float = 1.0) -> list[Case]:
    """The exponent p of n in the mean gradient norm over the last part of the steps, at the longest horizon."""
    finals = speedup_runs(results)
    mine = finals[(finals["algo"] == "dnasa") & (finals["schedule"] == schedule)]
    mine = mine[mine["steps"] == mine["steps"].max()]
    if mine["nodes"].nunique() < 2:
        return []
    means = mine["run_id"].map(_means(results, mine, "grad_norm", last)).where(mine["state"] == "done")
    part = "all steps" if last == 1 else f"the last {last:.0%} of the steps"
    return [Case(f"T = {mine['steps'].max()}, {part}", slope(mine["nodes"], means, mine["seed"]), len(mine))]


@evidence
def exponent_of_steps(results: Results, algo: str, metrics: list[str]) -> list[Case]:
    """The exponent p of T in the mean over all steps of the sum of these metrics, fixed schedule, for every n."""
    finals = speedup_runs(results)
    mine = finals[(finals["algo"] == algo) & (finals["schedule"] == "fixed")]
    out = []
    for nodes, some in mine.groupby("nodes"):
        if some["steps"].nunique() >= 2:
            means = some["run_id"].map(sum(_means(results, some, metric) for metric in metrics))
            fit = slope(some["steps"], means.where(some["state"] == "done"), some["seed"])
            out.append(Case(f"n = {nodes}", fit, len(some)))
    return out


def _means(results: Results, finals: pd.DataFrame, metric: str, last: float = 1.0) -> pd.Series:
    """The mean of a metric over the last part of the steps, by the trapezoid rule over the evaluations, per run."""
    rows = results.rows[results.rows["run_id"].isin(finals["run_id"])]
    out = {}
    for run, some in rows.groupby("run_id"):
        some = some[some["step"] >= (1 - last) * some["step"].max()]
        width = some["step"].iloc[-1] - some["step"].iloc[0]
        out[run] = np.trapezoid(some[metric], some["step"]) / width if width else some[metric].iloc[-1]
    return pd.Series(out)
