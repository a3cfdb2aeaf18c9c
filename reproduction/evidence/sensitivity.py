"""Accuracy lost by a wrong stepsize, compared with the setting that other seeds select."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence, untested
from analysis.results.labels import metric_in_words
from analysis.results.results import Results
from analysis.study.statistics import Grid, losses
from analysis.study.tuning import criterion, tuned_over
from reproduction.evidence.factors import several, swept
from reproduction.evidence.settings import Among, label, of, settings, tuned_methods, written
from reproduction.study import PAPER


@evidence
def points_lost_by_a_factor(
    results: Results, factor: float = 10.0, among: tuple[Among, ...] = ("paper",), option: str = "eta"
) -> list[Case]:
    """Test accuracy lost when the best stepsize, or the best factor before D-NASA's stepsize, is multiplied or divided
    by ten, whichever is worse. Other seeds select the best value and the worse direction. A case names its direction if
    the grid has only one."""
    some: list[tuple[str, pd.DataFrame, str, str | None]]
    if option == "multiplier":
        some = [(name, mine, "dnasa", option) for name, mine in swept(results, among)]
    else:
        chosen = [(name, written(results, runs)) for name, runs in several(results, among)]
        some = [(name, of(runs, algo), algo, None) for name, runs in chosen for algo in tuned_methods(runs)]
    grids = [(f"{name}, {label(algo)}", _grid(results, mine, asked=asked)) for name, mine, algo, asked in some]
    out = []
    for name, grid in grids:
        found, ways = _worse_way(grid, factor, option) if grid.best else ([], set())
        made = case(name + _one_way(ways), found, len(grid.runs)) if found else untested(name)
        out.append(replace(made, partial=any(len(way) == 1 for way in ways)))
    return out


def _worse_way(grid: Grid, factor: float, option: str) -> tuple[list[float], set[tuple[str, ...]]]:
    """Points lost by seed (infinite if a run diverged; seeds without such a stepsize are omitted), and the directions
    that the grid allows."""
    values, etas = grid.values("test_accuracy"), grid.settings[option].to_numpy(float)
    out, ways = [], set()
    for seed, best in enumerate(grid.by_the_others):
        to = {"upwards": factor, "downwards": 1 / factor}
        near = {way: k for way, f in to.items() for k in np.flatnonzero(np.isclose(etas, f * etas[best], rtol=1e-6))}
        if near:
            others = np.delete(values, seed, axis=1).mean(axis=1)  # NaN, the worst, if one diverged
            worse = min(near.values(), key=lambda k: -np.inf if np.isnan(others[k]) else others[k])
            lost = values[best, seed] - values[worse, seed]
            out.append(np.inf if np.isnan(values[worse, seed]) else float(lost))
            ways.add(tuple(near))
    return out, ways


def _one_way(ways: set[tuple[str, ...]]) -> str:
    """For example (only upwards), or (at some seeds only upwards), if the other direction was not run."""
    alone = sorted(way[0] for way in ways if len(way) == 1)
    return f" ({'at some seeds ' if len(ways) > 1 else ''}only {' or '.join(alone)})" if alone else ""


@evidence
def points_lost_at_the_best_common_stepsize(results: Results) -> list[Case]:
    """Largest loss of test accuracy over the datasets (random graph) with one common stepsize. For every seed, the
    other seeds select the stepsize with the smallest such loss."""
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
    """Test accuracy lost on a dataset (random graph) with the best stepsize of the other dataset, selected by accuracy
    and by test loss."""
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


def _grid(results: Results, mine: pd.DataFrame, by: str | None = None, asked: str | None = None) -> Grid:
    return Grid(mine, tuned_over(results, mine, asked), criterion(results, mine, replace(PAPER, tune_by=by)))


def _by_method(results: Results, by: str | None = None) -> dict[str, dict[str, Grid]]:
    """By tuned method and dataset, on the random graph: the grid of settings and seeds."""
    out: dict[str, dict[str, Grid]] = {}
    for name, runs in settings(results, topology="random"):
        for algo in tuned_methods(runs):
            grid = _grid(results, of(written(results, runs), algo), by)
            if grid.best:
                out.setdefault(algo, {})[name.partition(",")[0]] = grid
    return out


def _lost(grid: Grid, eta: float, seeds: list[int]) -> float:
    """Points lost at a stepsize, compared with the best over these seeds; infinite if a run diverged."""
    values = grid.values("test_accuracy")[:, [grid.seeds.index(seed) for seed in seeds]].mean(axis=1)
    there = values[list(grid.settings["eta"]).index(eta)]
    best = grid.by_the_others[grid.seeds.index(seeds[0])] if len(seeds) == 1 else int(np.nanargmax(values))
    return float(np.inf if np.isnan(there) else values[best] - there)
