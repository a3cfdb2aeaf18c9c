"""D-NASA with factors before its stepsize."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence
from analysis.results.results import Results
from analysis.study.select import has_no_variant, problems
from analysis.study.statistics import report
from analysis.study.tuning import criterion
from reproduction.evidence.settings import Among, by_seed, in_words, of, plain, settings
from reproduction.study import PAPER

EVERYWHERE: tuple[Among, ...] = ("paper", "validated", "uneven", "felt")


def several(results: Results, among: tuple[Among, ...]) -> list[tuple[str, pd.DataFrame]]:
    """Settings of several kinds."""
    return [one for kind in among for one in settings(results, kind)]


def swept(results: Results, among: tuple[Among, ...] = EVERYWHERE) -> list[tuple[str, pd.DataFrame]]:
    """Settings in which D-NASA was run with at least three factors, and these runs."""
    out = []
    for name, runs in several(results, among):
        mine = of(runs, "dnasa")
        mine = mine[has_no_variant(mine, "multiplier") & (mine["schedule"] == PAPER.schedule)]
        if mine["multiplier"].nunique() >= 3:
            out.append((name, mine))
    return out


@evidence
def points_lost_by_the_multiplier(results: Results, factor: float) -> list[Case]:
    """Test accuracy that D-NASA loses with this factor before its stepsize, compared with the default, paired by seed.
    The loss is infinite where a run diverged."""
    out = []
    for name, mine in swept(results):
        usual, other = (
            by_seed(mine[np.isclose(mine["multiplier"], value)], "test_accuracy") for value in (1.0, factor)
        )
        if len(other):
            runs = len(usual) + len(other)
            usual, other = usual.align(other, join="inner")
            out.append(case(name, (usual - other).mask(usual.notna() & other.isna(), np.inf), runs))
    return out


@evidence
def points_lost_by_the_default(results: Results) -> list[Case]:
    """Test accuracy that D-NASA loses with the factor 1, compared with the best factor, selected on other seeds."""
    out = []
    for name, mine in swept(results):
        best = report(mine, ["multiplier"], criterion(results, mine, PAPER))
        usual = by_seed(mine[mine["multiplier"] == 1.0], "test_accuracy")
        theirs, ours = best.values("test_accuracy").align(usual, join="inner")
        found = theirs - ours
        if best.best and len(found):
            out.append(case(f"{name} (best factor {best.best.values['multiplier']:g})", found, len(mine)))
    return out


@evidence
def loss_by_the_default(results: Results) -> list[Case]:
    """Final test loss of D-NASA on the spike model with the factor 1, as a ratio to that with the best factor, paired
    by seed. The best factor is selected by test loss on other seeds."""
    finals = results.finals
    mine = of(finals[plain(finals) & (finals["dataset"] == "spike") & (finals["topology"] == "ring")], "dnasa")
    mine = mine[has_no_variant(mine, "multiplier") & (mine["schedule"] == PAPER.schedule)]
    out = []
    for _, runs in problems(results, mine):
        runs = runs.assign(log=np.log(runs["test_loss"]))
        if runs["multiplier"].nunique() >= 3:
            best = report(runs, ["multiplier"], ("log", -1.0))
            ours, theirs = by_seed(runs[runs["multiplier"] == 1.0], "log").align(best.values("log"), join="inner")
            found = ours - theirs
            if best.best and len(found):
                name = f"{in_words(runs)} (best factor {best.best.values['multiplier']:g})"
                out.append(case(name, found, len(runs), logs=True))
    return out
