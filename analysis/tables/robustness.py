"""Stepsize robustness: how far off a stepsize may be, and what no tuning costs."""

from __future__ import annotations

import math

import pandas as pd

from analysis.drawing.style import styles
from analysis.results.results import Results
from analysis.study.ask import Ask
from analysis.study.select import as_written, at_best, problems, reference, refuse_unless
from analysis.study.statistics import WITHIN, paired, robustness
from analysis.tables import Table, table
from analysis.tables.format import interval, problem_cells

NOTES = [
    f"decades: of the range of grid stepsizes around the best with a mean accuracy within {WITHIN:g} points of its",
    "differences are paired by seed, with 95 % bootstrap intervals",
]


@table("robustness", "How much each method cares about its stepsize")
def make(results: Results, ask: Ask) -> Table:
    data, shown = [], []
    against = reference(results, ask.reference)
    look = styles(results.finals["algo"].unique(), results)
    for key, runs in problems(results, results.finals):
        if "eta" not in runs or not runs["test_accuracy"].notna().any():
            continue
        runs, _ = as_written(results, runs)
        best, chosen = at_best(runs, compared=True)
        ours = best[best["algo"] == against].set_index("seed")["test_accuracy"]
        tuning = "" if against in chosen else ", untuned,"
        for algo in (name for name in look if name in set(runs["algo"])):
            mine = runs[runs["algo"] == algo]
            found = robustness(mine) if mine["eta"].nunique() >= 2 else None
            if found is None:
                continue
            tuned = mine[(mine["eta"] == found.best.eta) & mine["seed"].isin(found.best.seeds)]
            tuned = tuned.set_index("seed")["test_accuracy"]
            gap = paired(ours, tuned) if len(ours) and algo != against else None
            data.append(
                {
                    **key,
                    "algo": algo,
                    "eta": found.best.eta,
                    "edge": found.best.edge,
                    "accuracy": found.accuracy,
                    "decades": found.decades,
                    "lost_up": found.lost_up,
                    "lost_down": found.lost_down,
                    "reference": against,
                    **({"reference_minus": gap.value} if gap else {}),
                    **({"low": gap.low, "high": gap.high, "seeds": gap.count} if gap else {}),
                }
            )
            shown.append(
                {
                    **problem_cells(key),
                    "method": look[algo].label,
                    "best η": f"{found.best.eta:g}{' (edge)' if found.best.edge else ''}",
                    "accuracy there": f"{found.accuracy:.2f}",
                    f"decades within {WITHIN:g} points": f"{found.decades:.1f}",
                    "lost at 10 η": _lost(found.lost_up),
                    "lost at η/10": _lost(found.lost_down),
                    "diverged": f"{(mine['state'] == 'diverged').sum()} of {len(mine)}",
                    **({f"{look[against].label}{tuning} minus this": interval(gap, signed=True)} if against else {}),
                }
            )
    refuse_unless(bool(data), "no method with accuracies was run with two stepsizes or more")
    return Table(pd.DataFrame(shown), pd.DataFrame(data), NOTES)


def _lost(points: float) -> str:
    if math.isnan(points):
        return "not on the grid"
    return "diverged" if math.isinf(points) else f"{points:.2f}"
