"""Sensitivity of a method to one of its options, on every seed around the setting that the other seeds choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.study.statistics.best import Best, Grid, score
from analysis.study.statistics.intervals import Interval, mean

WITHIN = 0.5
"""Tolerance of the range of good values, in points of accuracy."""


@dataclass(frozen=True)
class Robustness:
    """Sensitivity to one option on one problem, with the other options at their best."""

    best: Best  # by all tuning seeds
    decades: Interval  # log10 of the range around the best within 0.5 points of it; NaN if it starts at 0
    lost_up: Interval  # points lost at ten times the best; NaN: not on the grid; infinite: diverged
    lost_down: Interval  # at a tenth


def robustness(
    finals: pd.DataFrame, over: Sequence[str], option: str, by: tuple[str, float] | None = None
) -> Robustness | None:
    """Return the sensitivity of one tuned method; None without accuracies. ``by`` as in ``best_setting``."""
    grid = Grid(finals, over, by)
    if grid.best is None or score(finals)[0] != "test_accuracy":
        return None
    up, down = lost(grid, option, lambda value: 10 * value), lost(grid, option, lambda value: value / 10)
    return Robustness(grid.best, _decades(grid, option), up, down)


def losses(grid: Grid, option: str, to: Callable[[float], float]) -> np.ndarray:
    """Return the loss of score if the option is changed by ``to`` from the setting that the other seeds choose.

    One value per tuning seed at which the changed value was run; infinite if it diverged.
    """
    metric, sign = score(grid.runs)
    values, found = grid.values(metric), []
    setting = grid.settings[option].to_numpy(dtype=float)
    for seed, place in enumerate(grid.by_the_others):
        along, wanted = _along(grid, option, place), to(float(setting[place]))
        near = [k for k in along if np.isclose(setting[k], wanted, rtol=1e-6)]
        if near and setting[place]:
            there = values[near[0], seed]
            found.append(np.inf if np.isnan(there) else sign * (values[place, seed] - there))
    return np.array(found)


def lost(grid: Grid, option: str, to: Callable[[float], float]) -> Interval:
    """Return the mean of ``losses`` over seeds; NaN if there are none, infinite if one is."""
    found = losses(grid, option, to)
    if np.isinf(found).any() and not np.isnan(found).any():
        return Interval(np.inf, np.nan, np.nan, len(found))
    return mean(found)


def _decades(grid: Grid, option: str) -> Interval:
    values, found = grid.values("test_accuracy"), []
    setting = grid.settings[option].to_numpy(dtype=float)
    for seed, place in enumerate(grid.by_the_others):
        along = _along(grid, option, place)
        good = [bool(values[k, seed] >= values[place, seed] - WITHIN) for k in along]
        low = high = along.index(place)
        while low > 0 and good[low - 1]:
            low -= 1
        while high < len(along) - 1 and good[high + 1]:
            high += 1
        least, most = (float(setting[along[end]]) for end in (low, high))
        known = least > 0 and np.isfinite(values[place, seed])
        found.append(float(np.log10(most / least)) if known else np.nan)
    return mean(np.array(found))


def _along(grid: Grid, option: str, place: int) -> list[int]:
    """Return the settings that differ only in this option, sorted by it."""
    same = np.ones(len(grid.settings), dtype=bool)
    for name in grid.options:
        column = grid.settings[name].to_numpy()
        same &= (column == column[place]) | (name == option)
    setting = grid.settings[option].to_numpy(dtype=float)
    return sorted(np.flatnonzero(same).tolist(), key=lambda k: float(setting[k]))
