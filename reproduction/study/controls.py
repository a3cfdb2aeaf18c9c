"""Controls of the speed-up: runs in which only one factor changes with n."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.results.results import Results
from analysis.study.select import has_no_variant

PRINTED, COMPLETE, AVERAGING = "as printed", "no graph", "averaging alone"
NOISY, FORMULA = "formula alone, with noise", "formula alone"
CONTROLS = {
    PRINTED: "n nodes on a ring, stepsizes for n nodes",
    COMPLETE: "n nodes on the complete graph, stepsizes for n nodes",
    AVERAGING: "n nodes on a ring, stepsizes as for the smallest n",
    NOISY: "one node, stepsizes as for n nodes",
    FORMULA: "one node with exact gradients, stepsizes as for n nodes",
}


def controls(results: Results, algo: str = "dnasa") -> dict[str, pd.DataFrame]:
    """By control: the runs of the longest horizon, with the changing number as column ``n``."""
    finals = results.finals
    mine = finals[has_no_variant(finals) & (finals["algo"] == algo) & (finals["dataset"] == "synthetic")]
    if "schedule_nodes" not in mine or mine.empty:
        return {}
    mine = mine[(mine["steps"] == mine["steps"].max()) & (mine["scale"] == 1.0)]
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
    runs = {name: mine[keep & (exact == (name == FORMULA))].assign(n=n) for name, keep in which.items()}
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
