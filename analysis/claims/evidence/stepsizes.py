"""Tuning: what the best stepsize wins over D-NASA, and what another one loses."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, evidence, untested
from analysis.claims.evidence.settings import label, settings, tuned_methods
from analysis.results.results import Results
from analysis.study.reported import chosen_of, reported_all, runs_of
from analysis.study.statistics import Best, Interval, at_multiple, best_setting, mean, paired
from analysis.study.tuning import tuned_over


@evidence
def untuned_minus_best_tuned(results: Results, even: bool = True) -> list[Case]:
    """Test accuracy of D-NASA minus that of the best tuned method at its best stepsize, paired by seed."""
    out = []
    for name, runs in settings(results, even=even):
        found = reported_all(results, runs)
        best, chosen = runs_of(found), chosen_of(found)
        untuned = best[best["algo"] == "dnasa"]
        tuned = best[best["algo"].isin({*chosen} - {"dnasa"})]
        if untuned.empty or tuned.empty:
            continue
        winner = str(tuned.groupby("algo")["test_accuracy"].mean().idxmax())
        theirs = tuned[tuned["algo"] == winner]
        gap = paired(untuned.set_index("seed")["test_accuracy"], theirs.set_index("seed")["test_accuracy"])
        out.append(Case(f"{name} (best: {label(winner)})", gap, 2 * gap.count))
    return out


@evidence
def points_lost_by_a_factor_of_ten(results: Results) -> list[Case]:
    """Test accuracy lost at ten times or a tenth of a method's best stepsize, whichever costs more, paired by seed."""
    out = []
    for name, runs in settings(results):
        for algo in tuned_methods(runs):
            mine = runs[runs["algo"] == algo]
            best = best_setting(mine, tuned_over(results, mine))
            near = [eta for factor in (10.0, 0.1) if best and (eta := at_multiple(best, "eta", factor))]
            if best is None or not near:
                out.append(untested(f"{name}, {label(algo)}"))
                continue
            worse = min(near, key=lambda eta: best.along("eta")[eta])
            out.append(
                Case(
                    f"{name}, {label(algo)}, η = {worse:g} for {best.values['eta']:g}",
                    _lost(mine, best, worse),
                    len(mine),
                )
            )
    return out


@evidence
def points_lost_at(results: Results, eta: float) -> list[Case]:
    """Test accuracy lost at this stepsize against the method's best, paired by seed."""
    out = []
    for name, runs in settings(results, topology="random"):
        for algo in tuned_methods(runs):
            mine = runs[runs["algo"] == algo]
            best = best_setting(mine, tuned_over(results, mine))
            if best is not None and eta in best.along("eta"):
                out.append(Case(f"{name}, {label(algo)}", _lost(mine, best, eta), 2 * len(best.seeds)))
    return out


@evidence
def points_lost_at_the_best_common_stepsize(results: Results) -> list[Case]:
    """The least, over stepsizes, of the most a method loses with it on any dataset (random graph), paired by seed."""
    by_method: dict[str, dict[str, tuple[pd.DataFrame, Best]]] = {}
    for name, runs in settings(results, topology="random"):
        for algo in tuned_methods(runs):
            mine = runs[runs["algo"] == algo]
            if (best := best_setting(mine, tuned_over(results, mine))) is not None:
                by_method.setdefault(algo, {})[name.partition(",")[0]] = (mine, best)
    out = []
    for algo, found in by_method.items():
        common = set.intersection(*(set(best.along("eta").index) for _, best in found.values()))
        if len(found) >= 2 and common:
            means = [(best.along("eta"), best.values["eta"]) for _, best in found.values()]
            losses = {eta: [along[top] - along[eta] for along, top in means] for eta in common}
            eta = min(losses, key=lambda eta: (max(losses[eta]), eta))
            mine, best = list(found.values())[int(np.argmax(losses[eta]))]
            runs = sum(2 * len(best.seeds) for _, best in found.values())
            out.append(Case(f"{label(algo)}, η = {eta:g} on {' and '.join(found)}", _lost(mine, best, eta), runs))
    return out


def _lost(mine: pd.DataFrame, best: Best, eta: float) -> Interval:
    """Points lost at this stepsize against the best, over the seeds compared; infinite where it diverged."""
    if not np.isfinite(best.along("eta")[eta]):
        return Interval(np.inf, np.nan, np.nan, len(best.seeds))
    held = best.of(mine[mine["seed"].isin(best.seeds)], but="eta")
    ours, theirs = (
        held[held["eta"] == value].set_index("seed")["test_accuracy"] for value in (best.values["eta"], eta)
    )
    return mean((ours - theirs.reindex(ours.index)).to_numpy(float))
