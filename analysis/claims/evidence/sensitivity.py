"""What a wrong stepsize costs: against the setting that other seeds choose."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence, untested
from analysis.claims.evidence.settings import Among, by_seed, label, of, settings, tuned_methods, written
from analysis.drawing.style import metric_in_words
from analysis.results.results import Results
from analysis.study.ask import PAPER
from analysis.study.select import has_no_variant
from analysis.study.statistics import Grid, losses, report
from analysis.study.tuning import criterion, tuned_over


@evidence
def points_lost_by_a_factor(results: Results, factor: float = 10.0) -> list[Case]:
    """Test accuracy lost where the best stepsize is multiplied or divided by this factor, whichever is worse: the
    best, and which is worse, are chosen on other seeds."""
    out = []
    for name, runs in _settings(results):
        for algo in tuned_methods(runs):
            grid = _grid(results, of(written(results, runs), algo))
            found = _worse_way(grid, factor) if grid.best else []
            named = f"{name}, {label(algo)}"
            out.append(case(named, found, len(grid.runs)) if found else untested(named))
    return out


def _worse_way(grid: Grid, factor: float) -> list[float]:
    """By seed; infinite where a run diverged or exploded. None where no such stepsize was run."""
    values, etas = grid.values("test_accuracy"), grid.settings["eta"].to_numpy(float)
    out = []
    for seed, best in enumerate(grid.by_the_others):
        near = [k for f in (factor, 1 / factor) for k in np.flatnonzero(np.isclose(etas, f * etas[best], rtol=1e-6))]
        if near:
            others = np.delete(values, seed, axis=1).mean(axis=1)  # NaN where one of them diverged: the worst
            worse = min(near, key=lambda k: -np.inf if np.isnan(others[k]) else others[k])
            lost = values[best, seed] - values[worse, seed]
            out.append(np.inf if np.isnan(values[worse, seed]) else float(lost))
    return out


@evidence
def points_lost_by_the_multiplier(results: Results, factor: float) -> list[Case]:
    """Test accuracy that D-NASA loses with this factor before its stepsize, paired by seed: nothing is chosen."""
    out = []
    for name, mine in _swept(results):
        usual, other = (
            by_seed(mine[np.isclose(mine["multiplier"], value)], "test_accuracy") for value in (1.0, factor)
        )
        if len(other):
            out.append(case(name, (usual - other.reindex(usual.index)).dropna(), len(usual) + len(other)))
    return out


@evidence
def points_lost_by_the_default(results: Results) -> list[Case]:
    """Test accuracy that D-NASA loses with the factor 1 against the best factor, which is chosen on other seeds."""
    out = []
    for name, mine in _swept(results):
        best = report(mine, ["multiplier"], criterion(results, mine, PAPER))
        usual = by_seed(mine[mine["multiplier"] == 1.0], "test_accuracy")
        found = (best.values("test_accuracy") - usual).dropna()
        if best.best and len(found):
            out.append(case(f"{name} (best factor {best.best.values['multiplier']:g})", found, len(mine)))
    return out


@evidence
def points_lost_at_the_best_common_stepsize(results: Results) -> list[Case]:
    """The most that a method loses on any dataset (random graph) with one stepsize for all: for every seed the one that
    loses least on the others."""
    out = []
    for algo, grids in _by_method(results).items():
        common = sorted(set.intersection(*(set(grid.settings["eta"]) for grid in grids.values())))
        seeds = sorted(set.intersection(*(set(grid.seeds) for grid in grids.values())))
        if len(grids) < 2 or not common or len(seeds) < 2:
            continue
        each, used = [], []
        for seed in seeds:
            others = [s for s in seeds if s != seed]
            lost = {eta: max(_lost(grid, eta, others) for grid in grids.values()) for eta in common}
            eta = min(lost, key=lambda eta: (lost[eta], eta))
            used.append(eta)
            each.append(max(_lost(grid, eta, [seed]) for grid in grids.values()))
        name = f"{label(algo)}, η = {max(set(used), key=used.count):g} on {' and '.join(grids)}"
        out.append(case(name, each, sum(2 * len(seeds) for _ in grids)))
    return out


@evidence
def points_lost_with_the_stepsize_of_another(results: Results) -> list[Case]:
    """Test accuracy lost on a dataset (random graph) with the stepsize that is best on the other one, by accuracy and
    by test loss."""
    out = []
    for by in ("test_accuracy", "test_loss"):
        for algo, grids in _by_method(results, by).items():
            for here, grid in grids.items():
                for there, other in grids.items():
                    eta = float(other.best.values["eta"]) if other.best else np.nan
                    named = f"{label(algo)}, η = {eta:g} of {there} on {here} (by {metric_in_words(by, results)})"
                    if here != there and eta in set(grid.settings["eta"]):
                        out.append(case(named, losses(grid, "eta", partial(_always, eta)), len(grid.runs)))
                    elif here != there:
                        out.append(untested(named))
    return out


def _always(value: float, _: float) -> float:
    return value


def _grid(results: Results, mine: pd.DataFrame, by: str | None = None) -> Grid:
    return Grid(mine, tuned_over(results, mine), criterion(results, mine, replace(PAPER, tune_by=by)))


def _by_method(results: Results, by: str | None = None) -> dict[str, dict[str, Grid]]:
    """Of every tuned method, by dataset, on the random graph: settings and seeds."""
    out: dict[str, dict[str, Grid]] = {}
    for name, runs in settings(results, topology="random"):
        for algo in tuned_methods(runs):
            grid = _grid(results, of(written(results, runs), algo), by)
            if grid.best:
                out.setdefault(algo, {})[name.partition(",")[0]] = grid
    return out


def _lost(grid: Grid, eta: float, seeds: list[int]) -> float:
    """Points lost at a stepsize against the best over these seeds; infinite where it diverged or exploded."""
    values = grid.values("test_accuracy")[:, [grid.seeds.index(seed) for seed in seeds]].mean(axis=1)
    there = values[list(grid.settings["eta"]).index(eta)]
    best = grid.by_the_others[grid.seeds.index(seeds[0])] if len(seeds) == 1 else int(np.nanargmax(values))
    return float(np.inf if np.isnan(there) else values[best] - there)


def _settings(results: Results) -> list[tuple[str, pd.DataFrame]]:
    """The paper's random graph for all of its graphs, which are not told apart, and all with samples set aside."""
    aside: tuple[Among, ...] = ("validated", "uneven", "felt")
    return [*settings(results, topology="random"), *(one for among in aside for one in settings(results, among))]


def _swept(results: Results) -> list[tuple[str, pd.DataFrame]]:
    """D-NASA with several factors."""
    out = []
    for name, runs in _settings(results):
        mine = of(runs, "dnasa")
        mine = mine[has_no_variant(mine, "multiplier") & (mine["schedule"] == PAPER.schedule)]
        if mine["multiplier"].nunique() >= 3:
            out.append((name, mine))
    return out
