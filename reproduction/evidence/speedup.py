"""Linear speed-up: exponents of the number of nodes and of steps, and their causes."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence
from analysis.results.errors import NoData
from analysis.results.results import Results
from analysis.study.statistics import exponents
from reproduction.evidence.settings import label
from reproduction.study.controls import controls, means_over_steps
from reproduction.study.families import speedup_runs

Schedule = Literal["fixed", "diminishing"]


@evidence
def exponent_of_nodes(
    results: Results,
    schedule: Schedule,
    algo: str = "dnasa",
    metric: str = "grad_norm",
    last: float = 1.0,
    horizons: bool = False,
) -> list[Case]:
    """Exponent of n in the mean of a metric over all steps, or over their last part, at the longest horizon or at every
    horizon. Least squares in logarithms gives one exponent per seed."""
    finals = speedup_runs(results)
    mine = finals[(finals["algo"] == algo) & (finals["schedule"] == schedule)]
    mine = mine if horizons else mine[mine["steps"] == mine["steps"].max()]
    out = []
    for steps, some in mine.groupby("steps"):
        if some["nodes"].nunique() >= 2:
            means = some["run_id"].map(means_over_steps(results, some, metric, last))
            found = exponents(some["nodes"], means, some["seed"])
            out.append(case(f"{label(algo)}, T = {steps}, {_part(last)}", found, len(some)))
    return out


@evidence
def exponent_of_control(
    results: Results, control: str | list[str], algo: str = "dnasa", metric: str = "grad_norm"
) -> list[Case]:
    """Exponent of n in the mean gradient norm when only one factor changes with n (see the figure of the controls)."""
    names = [control] if isinstance(control, str) else control
    out = []
    found, _ = controls(results, algo)
    for name, runs in ((name, found.get(name)) for name in names):
        if runs is None:
            raise NoData(f"{algo} has no runs of the control '{name}'")
        for schedule, some in runs.groupby("schedule", sort=False):
            for last in (1.0, 0.2):
                means = some["run_id"].map(means_over_steps(results, some, metric, last))
                each = exponents(some["n"], means, some["seed"])
                also = f", {name}" if len(names) > 1 else ""
                out.append(case(f"{label(algo)}, {schedule}{also}, {_part(last)}", each, len(some)))
    return out


@evidence
def exponent_of_time(results: Results, levels: list[float]) -> list[Case]:
    """Exponent of n in T(ε), the horizon at which the mean of ‖∇f‖ over all steps reaches ε, interpolated linearly in
    logarithms between the horizons that were run. The paper defines linear speed-up as −1."""
    finals = speedup_runs(results)
    mine = finals[(finals["algo"] == "dnasa") & (finals["schedule"] == "fixed")]
    if mine["steps"].nunique() < 2 or mine["nodes"].nunique() < 2:
        return []
    table = mine.assign(mean=mine["run_id"].map(means_over_steps(results, mine, "grad_norm")))
    out = []
    for level in levels:
        times = table.groupby(["seed", "nodes"])[["steps", "mean", "state"]].apply(_time_to, level=level)
        found = times.rename("time").reset_index()
        out.append(case(f"ε = {level:g}", exponents(found["nodes"], found["time"], found["seed"]), len(mine)))
    return out


@evidence
def exponent_of_steps(results: Results, algo: str, metrics: list[str], schedule: Schedule = "fixed") -> list[Case]:
    """Exponent of T in the mean over all steps of the sum of these metrics, for every n. The fixed schedule has one run
    per T; for the diminishing schedule, the first T steps of one run are used."""
    finals = speedup_runs(results)
    mine = finals[(finals["algo"] == algo) & (finals["schedule"] == schedule)]
    out = []
    for nodes, some in mine.groupby("nodes"):
        if schedule == "diminishing":
            some = some[some["steps"] == some["steps"].max()]
            parts = [_beginnings(results, some, metric) for metric in metrics]
            found = parts[0].assign(mean=sum(part["mean"] for part in parts))
        else:
            means = sum(some["run_id"].map(means_over_steps(results, some, metric)) for metric in metrics)
            found = some[["seed", "steps"]].assign(mean=means)
        if found["steps"].nunique() >= 2:
            fit = exponents(found["steps"], found["mean"], found["seed"])
            out.append(case(f"{label(algo)}, n = {nodes}", fit, len(some)))
    return out


@evidence
def loss_with_nodes(results: Results) -> list[Case]:
    """Final test loss with the most nodes as a ratio to that with the fewest nodes, paired by seed."""
    finals = speedup_runs(results)
    out = []
    for schedule, mine in finals[finals["algo"] == "dnasa"].groupby("schedule"):
        mine = mine[mine["steps"] == mine["steps"].max()]
        fewest, most = mine["nodes"].min(), mine["nodes"].max()
        if fewest < most:
            ends = [
                np.log(some.set_index("seed")["test_loss"].where(some.set_index("seed")["state"] == "done"))
                for some in (mine[mine["nodes"] == most], mine[mine["nodes"] == fewest])
            ]
            both = pd.concat(ends, axis=1, join="inner").to_numpy(float)
            name = f"{schedule}, {most} nodes against {fewest}"
            out.append(case(name, both[:, 0] - both[:, 1], 2 * len(both), logs=True))
    return out


HORIZONS = (1000, 2000, 4000, 8000, 15000)


def _beginnings(results: Results, runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean over the first T steps, for several T; NaN if the run diverged."""
    out = []
    for run in runs.to_dict("records"):
        at, values = results.course(run["run_id"], metric)
        for steps in [horizon for horizon in HORIZONS if run["steps"] >= horizon]:
            first = at <= steps
            mean = np.trapezoid(values[first], at[first]) / at[first][-1]
            out.append({"seed": run["seed"], "steps": steps, "mean": mean if run["state"] == "done" else np.nan})
    return pd.DataFrame(out, columns=["seed", "steps", "mean"])


def _time_to(table: pd.DataFrame, level: float) -> float:
    """First crossing of a level, interpolated linearly in logarithms; NaN without a crossing."""
    table = table.sort_values("steps")
    if (table["state"] != "done").any():
        return np.nan
    t, y = np.log(table["steps"].to_numpy(float)), np.log(table["mean"].to_numpy(float) / level)
    for k in range(len(t) - 1):
        if y[k] > 0 >= y[k + 1]:
            return float(np.exp(t[k] + (t[k + 1] - t[k]) * y[k] / (y[k] - y[k + 1])))
    return np.nan


def _part(last: float) -> str:
    return "all steps" if last == 1 else f"the last {last:.0%} of the steps"
