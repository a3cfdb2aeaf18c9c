"""How much a method cares about one of its options: on every seed around the setting that the other seeds choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.study.statistics.best import Best, Grid, score
from analysis.study.statistics.intervals import Interval, mean

WITHIN = 0.5
"""Points of accuracy that do not matter."""


@dataclass(frozen=True)
class Robustness:
    """Of one option, the others at their best, on one problem."""

    best: Best  # of all tuning seeds
    decades: Interval  # log10 of the widest range around the best within 0.5 points of it; NaN with a 0 in it
    lost_up: Interval  # points lost at ten times the best; NaN: off the grid; infinite: it diverged
    lost_down: Interval  # at a tenth


def robustness(
    finals: pd.DataFrame, over: Sequence[str], option: str, by: tuple[str, float] | None = None
) -> Robustness | None:
    """From the runs of one tuned method on one problem with accuracies; ``by`` what its setting is chosen by."""
    grid = Grid(finals, over, by)
    if grid.best is None or score(finals)[0] != "test_accuracy":
        return None
    up, down = lost(grid, option, lambda value: 10 * value), lost(grid, option, lambda value: value / 10)
    return Robustness(grid.best, _decades(grid, option), up, down)


def losses(grid: Grid, option: str, to: Callable[[float], float]) -> np.ndarray:
    """What is lost, in the score, where the option is taken ``to`` another value than the best: at every tuning seed
    against the setting that the other seeds choose. Of the seeds at which that value was run; infinite where it
    diverged."""
    metric, sign = score(grid.runs)
    values, found = grid.values(metric), []
    for seed, place in enumerate(grid.by_the_others):
        row = grid.settings.iloc[place]
        near = [
            k for k in _along(grid, option, place) if row[option] and _same(grid, option, k, to(float(row[option])))
        ]
        if near:
            there = values[near[0], seed]
            found.append(np.inf if np.isnan(there) else sign * (values[place, seed] - there))
    return np.array(found)


def lost(grid: Grid, option: str, to: Callable[[float], float]) -> Interval:
    """The mean of these losses over the seeds, which ``count`` has; NaN where there is none, infinite where one is."""
    found = losses(grid, option, to)
    if np.isinf(found).any() and not np.isnan(found).any():
        return Interval(np.inf, np.nan, np.nan, len(found))
    return mean(found)


def _decades(grid: Grid, option: str) -> Interval:
    values, found = grid.values("test_accuracy"), []
    for seed, place in enumerate(grid.by_the_others):
        along = _along(grid, option, place)
        good = [bool(values[k, seed] >= values[place, seed] - WITHIN) for k in along]
        low = high = along.index(place)
        while low > 0 and good[low - 1]:
            low -= 1
        while high < len(along) - 1 and good[high + 1]:
            high += 1
        least, most = (float(grid.settings.iloc[along[end]][option]) for end in (low, high))
        known = least > 0 and np.isfinite(values[place, seed])
        found.append(float(np.log10(most / least)) if known else np.nan)
    return mean(np.array(found))


def _along(grid: Grid, option: str, place: int) -> list[int]:
    """The settings that differ in this option alone, in its order."""
    others = [name for name in grid.options if name != option]
    same = (grid.settings[others] == grid.settings.iloc[place][others]).all(axis=1).to_numpy()
    return sorted(np.flatnonzero(same).tolist(), key=lambda k: float(grid.settings.iloc[k][option]))


def _same(grid: Grid, option: str, place: int, value: float) -> bool:
    return bool(np.isclose(float(grid.settings.iloc[place][option]), value, rtol=1e-6))
