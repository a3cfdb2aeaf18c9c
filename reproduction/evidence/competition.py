"""Untuned D-NASA compared with tuned methods, whose stepsizes are selected on seeds that do not report them."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence
from analysis.results.labels import metric_in_words
from analysis.results.results import Results
from analysis.study.reported import best_of_all, reported_all
from reproduction.evidence.settings import POINTS, Among, by_seed, label, of, settings, tuned_methods, written
from reproduction.study import PAPER


@evidence
def against_the_best_tuned(
    results: Results,
    metric: str = POINTS,
    among: Among = "paper",
    topology: str | None = None,
    tune_by: tuple[str, ...] = (),
) -> list[Case]:
    """Final result of untuned D-NASA compared with that of the best method at its best stepsize. Both are selected on
    other seeds, by the compared metric. Accuracies with a validation split are selected by validation accuracy. A case
    may name another criterion."""
    usual = None if metric == POINTS else metric
    out = []
    for name, runs, by in (
        (*one, by) for one in settings(results, among, topology=topology) for by in tune_by or [usual]
    ):
        runs = written(results, runs)
        best = best_of_all(results, runs, replace(PAPER, tune_by=by), but=("dnasa",))
        if best is None or best.best is None or of(runs, "dnasa").empty:
            continue
        ours, theirs = by_seed(of(runs, "dnasa"), metric), best.values(metric)
        winner = label(str(best.best.values["algo"]))
        chosen = f", chosen by {metric_in_words(by, results)}" if by and tune_by else ""
        out.append(_gap(f"{name} (best: {winner}{chosen})", ours, theirs, metric))
    return out


@evidence
def against_each_tuned(
    results: Results,
    metric: str,
    tune_by: tuple[str, ...] = ("test_accuracy",),
    at: Literal["steps", "bytes"] = "steps",
) -> list[Case]:
    """Ratio of untuned D-NASA to each tuned method on the random graph, after the same number of steps or bytes. The
    stepsize of a method is selected on other seeds, by accuracy or by the criterion that the case names."""
    out = []
    for name, runs, by in ((*setting, by) for setting in settings(results, topology="random") for by in tune_by):
        runs = written(results, runs)
        found = reported_all(results, runs, replace(PAPER, tune_by=by))
        for algo in (algo for algo in tuned_methods(runs) if found[algo].best):
            theirs = found[algo]
            ours = by_seed(of(runs, "dnasa"), metric)
            if at == "bytes":
                ours = _when_spent(results, of(runs, "dnasa"), metric, float(theirs.runs["bytes"].median()))
            chosen = f", η by {metric_in_words(by, results)}" if len(tune_by) > 1 else ""
            out.append(_gap(f"{name}, {label(algo)}{chosen}", ours, theirs.values(metric), metric))
    return out


def _when_spent(results: Results, runs: pd.DataFrame, metric: str, spent: float) -> pd.Series:
    """By seed: a metric at the last evaluation within this number of bytes."""
    rows = results.curves(runs)
    rows = rows[rows["bytes"] <= spent * (1 + 1e-9)]
    return rows.sort_values("step").groupby("seed")[metric].last().astype(float)


def _gap(name: str, ours: pd.Series, theirs: pd.Series, metric: str) -> Case:
    both = pd.concat([ours, theirs], axis=1, join="inner").to_numpy(dtype=float)
    if metric == POINTS:
        return case(name, both[:, 0] - both[:, 1], 2 * len(both))
    return case(name, np.log(both[:, 0]) - np.log(both[:, 1]), 2 * len(both), logs=True)
