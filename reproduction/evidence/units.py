"""Rescaled problems: c·f, and c²·f(x/c)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence, exact
from analysis.results.labels import name_of
from analysis.results.results import Results
from analysis.study.families import at_most
from analysis.study.select import as_written, problems
from reproduction.study import PAPER

Units = Literal["scale", "input_scale"]
POWER = {"scale": 1, "input_scale": 2}
"""Power of c by which losses grow."""


@evidence
def change_with_units(results: Results, algo: str, what: Units) -> list[Case]:
    """Largest relative change of the training loss, in the units of c = 1, over all c, seeds and evaluations."""
    out = []
    for name, rows, runs in _in_one_unit(results, algo, what):
        plain = rows[rows[what] == 1.0].set_index(["seed", "step"])["f"]
        others = rows[(rows[what] != 1.0) & rows["seed"].isin(plain.index.get_level_values(0))]
        base = plain.reindex(pd.MultiIndex.from_frame(others[["seed", "step"]])).to_numpy()
        whole = len(others) == others.groupby([what, "seed"]).ngroups * rows["step"].nunique()  # no run ended early
        worst = float(np.max(np.abs(others["f"].to_numpy() - base) / np.abs(base))) if whole else np.nan
        out.append(exact(name, worst, runs))
    return out


@evidence
def loss_in_other_units(results: Results, algo: str, what: Units) -> list[Case]:
    """Final training loss, in the units of c = 1, as a ratio to that at c = 1, at the c with the largest ratio."""
    out = []
    for name, rows, runs in _in_one_unit(results, algo, what):
        ends = rows.sort_values("step").groupby([what, "seed"])["f"].last().unstack(what)
        ratios = np.log(ends.drop(columns=1.0)).sub(np.log(ends[1.0]), axis=0)
        worst = ratios.mean().idxmax()
        out.append(case(f"{name.rpartition(', c')[0]}, c = {worst:g}", ratios[worst], runs, logs=True))
    return out


def _in_one_unit(results: Results, algo: str, what: Units) -> list[tuple[str, pd.DataFrame, int]]:
    """By problem: its name, all evaluations with f in the units of c = 1, and the number of runs."""
    finals = results.finals
    out: list[tuple[str, pd.DataFrame, int]] = []
    if what not in finals:
        return out
    for key, runs in problems(results, finals[finals["algo"] == algo], but=(what,)):
        runs, _ = as_written(results, runs, PAPER)
        if runs[what].nunique() < 2 or 1.0 not in set(runs[what]):
            continue
        rescaled = runs.assign(test_loss=runs["test_loss"] / runs[what] ** POWER[what])
        runs, _, _ = at_most(what, results, rescaled, PAPER)
        rows = results.curves(runs).assign(f=lambda table: table["train_loss"] / table[what] ** POWER[what])
        others = sorted(runs.loc[runs[what] != 1.0, what].unique())
        name = f"{name_of(key['dataset'])}, {key['topology']}, c from {others[0]:g} to {others[-1]:g}"
        out.append((name, rows, len(runs)))
    return out
