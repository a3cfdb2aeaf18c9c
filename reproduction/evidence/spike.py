"""The spike model, which has one steep direction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence
from analysis.results.results import Results
from analysis.study.select import problems
from analysis.study.statistics import report
from reproduction.evidence.settings import by_seed, label, of, written

PARTS = (0.1, 0.5, 1.0)
"""Fractions of the horizon at which the methods are compared."""


@evidence
def spike_ratio(results: Results, metric: str = "test_loss", parts: tuple[float, ...] = PARTS) -> list[Case]:
    """Ratio of D-NASA to the best tuned method after a tenth, half and all of the steps, as geometric means over seeds.
    Method and stepsize are the best at that step, selected on other seeds by the same mean."""
    out = []
    for sd, runs, rows in _curves(results):
        steps = sorted(rows["step"].unique())
        for part in parts:
            step = min(steps, key=lambda t: abs(t - part * steps[-1]))
            there = runs[["run_id", "algo", "eta", "seed", "state"]].merge(rows[rows["step"] == step], on="run_id")
            there = there.assign(log=np.log(there[metric]))
            best = report(there[there["eta"].notna()], ["algo", "eta"], ("log", -1.0))
            if best.best is None:
                continue
            ours, theirs = by_seed(of(there, "dnasa"), "log"), best.values("log")
            both = pd.concat([ours, theirs], axis=1, join="inner").to_numpy(float)
            name = f"standard deviation {sd:g}, t = {step} (best: {label(str(best.best.values['algo']))}"
            name += f"; against the best in hindsight: {_ahead(runs, rows, metric)})" if part == parts[-1] else ")"
            out.append(case(name, both[:, 0] - both[:, 1], 2 * len(both), logs=True))
    return out


@evidence
def rises_on_the_way(results: Results) -> list[Case]:
    """Sum of all rises of log loss over the first half of the steps, D-NASA minus the best tuned method, paired by
    seed. The best method and its stepsize have the lowest loss at the end."""
    out = []
    for sd, runs, rows in _curves(results):
        ends = runs[["run_id", "algo", "eta", "seed", "state"]].merge(
            rows.drop_duplicates("run_id", keep="last"), on="run_id"
        )
        ends = ends.assign(log=np.log(ends["test_loss"]))
        best = report(ends[ends["eta"].notna()], ["algo", "eta"], ("log", -1.0))
        if best.best is None:
            continue
        half = rows[rows["step"] <= rows["step"].max() / 2]
        rises = half.groupby("run_id")["test_loss"].agg(lambda loss: np.diff(np.log(loss)).clip(min=0).sum())
        ours, theirs = (
            some.set_index("seed")["run_id"].map(rises).astype(float) for some in (of(runs, "dnasa"), best.runs)
        )
        both = ours.index.intersection(theirs.index)
        gap = ours[both] - theirs[both]
        out.append(
            case(f"standard deviation {sd:g} ({ours.mean():.3g} against {theirs.mean():.3g})", gap, 2 * len(gap))
        )
    return out


def _curves(results: Results) -> Iterator[tuple[float, pd.DataFrame, pd.DataFrame]]:
    """By standard deviation: the runs and their evaluations after the start."""
    finals = results.finals
    for key, runs in problems(results, finals[finals["dataset"] == "spike"]):
        runs = written(results, runs)
        rows = results.rows[results.rows["run_id"].isin(runs["run_id"]) & (results.rows["step"] > 0)]
        if {"dnasa"} < set(runs["algo"]):
            yield float(key["dataset.spike_sd"]), runs, rows


def _ahead(runs: pd.DataFrame, rows: pd.DataFrame, metric: str) -> str:
    """Comparison with the best setting of each step, for example: ahead … from t = 200 to 6800, by up to 20 times."""
    rows = rows.merge(runs[["run_id", "algo", "eta", "state"]], on="run_id")
    finished = rows.groupby(["algo", "eta"], dropna=False)["state"].transform(lambda states: (states == "done").all())
    rows = rows[finished.astype(bool)].assign(log=np.log(rows[metric]))
    if not {"dnasa"} < set(rows["algo"]):
        return "a run of D-NASA diverged"
    means = rows.groupby(["algo", "eta", "step"], dropna=False)["log"].mean()
    ours, others = means.xs("dnasa", level="algo").droplevel("eta"), means.drop("dnasa", level="algo")
    ratio = np.exp(ours - others.groupby("step").min()).dropna().sort_index()
    ahead = ratio < 1
    if ahead.all() or not ahead.any():
        return f"{'ahead' if ahead.all() else 'behind'} at every evaluation"
    begins, ends = ratio.index[ahead][0], ratio.index[ahead][-1]
    whole = ahead.loc[begins:ends].all()
    span = f"at every evaluation from t = {begins} to {ends}" if whole else f"at {ahead.mean():.0%} of the evaluations"
    return f"ahead {span}, by up to {1 / ratio.min():.3g} times"
