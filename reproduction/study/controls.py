"""Controls of the speed-up: runs in which only one factor changes with n."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.results.results import Results
from analysis.study.families import most_run
from analysis.study.select import has_no_variant, problems, what_else
from analysis.study.settings import neutral_first
from reproduction.study.families import usual_options

PRINTED, COMPLETE, AVERAGING = "as printed", "no graph", "averaging alone"
NOISY, FORMULA = "formula alone, with noise", "formula alone"
CONTROLS = {
    PRINTED: "n nodes on a ring, stepsizes for n nodes",
    COMPLETE: "n nodes on the complete graph, stepsizes for n nodes",
    AVERAGING: "n nodes on a ring, stepsizes as for the smallest n",
    NOISY: "one node, stepsizes as for n nodes",
    FORMULA: "one node with exact gradients, stepsizes as for n nodes",
}


CHANGED = ("nodes", "topology", "schedule_nodes", "dataset.exact")
"""Labels in which the runs of the controls of one problem differ."""


def controls(results: Results, algo: str = "dnasa") -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return the runs of each control, with the changing number as column ``n``, and notes on their problem.

    They are the runs of one problem, that with most of them, at its longest horizon. Of the options of the method and
    of the graphs, the most frequent value is kept.
    """
    finals = results.finals
    mine = finals[has_no_variant(finals) & (finals["algo"] == algo) & (finals["dataset"] == "synthetic")]
    mine = mine[mine["topology"].isin(["ring", "complete"])]
    if "schedule_nodes" not in mine:
        return {}, []
    best: dict[str, pd.DataFrame] = {}
    notes: list[str] = []
    for _, runs in neutral_first(problems(results, mine, but=(*CHANGED, "steps"))):
        runs, graphs = most_run(usual_options(results, runs[runs["steps"] == runs["steps"].max()]), "topology", ())
        found = _by_control(runs)
        if sum(map(len, found.values())) > sum(map(len, best.values())):
            best, notes = found, [*what_else(results, runs, CHANGED), *graphs]
    return best, notes


def _by_control(mine: pd.DataFrame) -> dict[str, pd.DataFrame]:
    formula, exact = mine["schedule_nodes"], mine["dataset.exact"].astype(bool)
    fewest = mine.loc[mine["nodes"] > 1, "nodes"].min()
    several, ring = mine["nodes"] > 1, mine["topology"] == "ring"
    which = {
        PRINTED: several & ring & formula.isna(),
        COMPLETE: several & (mine["topology"] == "complete") & formula.isna(),
        AVERAGING: several & ring & (formula.fillna(mine["nodes"]) == fewest),
        NOISY: ~several & formula.notna() & ~exact,
        FORMULA: ~several & formula.notna() & exact,
    }
    n = mine["nodes"].where(several, formula)
    mine = mine.assign(n=n)
    runs = {name: mine[keep & (exact == (name == FORMULA))] for name, keep in which.items()}
    # n nodes with the stepsizes for n nodes are one run under two names; so is one node on several graphs
    runs = {name: some.drop_duplicates(["schedule", "n", "seed"]) for name, some in runs.items()}
    return {name: some for name, some in runs.items() if some["n"].nunique() >= 2}


def means_over_steps(results: Results, finals: pd.DataFrame, metric: str, last: float = 1.0) -> pd.Series:
    """By run: mean of a metric over the last part of the steps, by the trapezoid rule over the evaluations; NaN if the
    run diverged."""
    out = {}
    for run, state in zip(finals["run_id"], finals["state"], strict=True):
        steps, values = results.course(run, metric)
        if state != "done" or not len(steps):
            out[run] = np.nan
            continue
        late = steps >= (1 - last) * steps.max()
        steps, values = steps[late], values[late]
        width = steps[-1] - steps[0]
        out[run] = np.trapezoid(values, steps) / width if width else values[-1]
    return pd.Series(out, dtype=float)
