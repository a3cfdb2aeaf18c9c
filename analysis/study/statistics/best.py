"""The best setting of a method on a problem, and its result on seeds that did not choose the setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from analysis.drawing.symbols import what_is_tuned
from analysis.results.errors import NoData
from analysis.results.wording import ranges
from analysis.study.statistics.intervals import FEWEST

RULE = (
    "best {what}: the one with the best mean final {score} over the seeds; a value is not considered if one "
    "of its runs diverged or lacks this metric, or if it was not run with a seed that most other values have; ties go "
    "to the lower f − f* if it is known, then to the smaller value"
)
SEVERAL = "several runs have the same setting and seed: they are not of one problem"
SAME = 3e-7
"""Scores that differ by less, relative to their size, are equal: archives are in single precision."""
LOSSES, GAP = ("train_loss", "test_loss"), "suboptimality"
"""Losses that count as f here, and f − f*, which decides if they are equal."""
FRESH, CROSSED, OWN = "not used for the choice", "cross-fitted", "chose its setting itself"
ALONE, UNTUNED, GONE = "the only setting run", "untuned", "every setting diverged for some seed"
HELD_OUT = (
    f"results of tuned methods come from seeds that did not choose the setting: {FEWEST} or more further seeds of the "
    f"chosen setting ({FRESH}), else every seed at the setting that the other seeds choose ({CROSSED}); a single seed "
    "reports its own choice, without an interval"
)


def score(finals: pd.DataFrame) -> tuple[str, float]:
    """Return the metric that ranks runs, and its sign: test accuracy (+1), or test loss (−1) if there is none."""
    has = "test_accuracy" in finals and finals["test_accuracy"].notna().any()
    return ("test_accuracy", 1.0) if has else ("test_loss", -1.0)


def numbered(runs: pd.DataFrame, options: Sequence[str]) -> np.ndarray:
    """Return the number of the setting of every run, in the order of the values of the options; none is missing."""
    each = [np.unique(runs[option].to_numpy(), return_inverse=True)[1] for option in options]
    return each[0] if len(each) == 1 else np.unique(np.stack(each), axis=1, return_inverse=True)[1].ravel()


@dataclass(frozen=True)
class Best:
    """The best setting of one method on one problem: a value for every tuned option."""

    values: dict[str, float | str]  # numbers, and the name of a schedule
    edges: list[str]  # options at the smallest or largest value of their grid: a better value may lie outside
    seeds: list[int]  # the tuning seeds, which compare the settings
    settings: pd.DataFrame  # all compared settings
    scores: np.ndarray  # their means
    left_out: pd.DataFrame  # settings that lack a tuning seed, and are not compared
    idle: list[str]  # options of which all values have the same mean, so that none is better

    @cached_property
    def means(self) -> pd.Series:
        """The means by setting, over the tuning seeds; −∞ for accuracies and ∞ for losses if a run diverged."""
        return pd.Series(self.scores, index=pd.MultiIndex.from_frame(self.settings))

    @property
    def alone(self) -> bool:
        """Whether only one setting was run."""
        return len(self.scores) == 1 and self.left_out.empty

    def of(self, runs: pd.DataFrame, but: str | None = None) -> pd.DataFrame:
        """Return the runs with the best values; the option ``but`` may have any value."""
        keep = np.ones(len(runs), dtype=bool)
        for option, value in self.values.items():
            keep &= (runs[option] == value).to_numpy(bool) | (option == but)
        return runs[keep]

    def along(self, option: str) -> pd.Series:
        """Return the means by the values of one option, with the others at their best."""
        return self.of(self.means.rename("mean").reset_index(), but=option).set_index(option)["mean"]


class Grid:
    """The runs of one method on one problem, by setting and tuning seed.

    The tuning seeds are those that most settings have. Settings that lack a tuning seed are excluded.
    """

    def __init__(self, finals: pd.DataFrame, over: Sequence[str], by: tuple[str, float] | None = None) -> None:
        self.by, self.sign = by or score(finals)
        self.options = list(over)
        known = finals[self.options].notna().to_numpy().all(axis=1)
        self.runs = finals if known.all() else finals[known]
        """The runs of all settings and seeds."""
        setting, seed = numbered(self.runs, self.options), self.runs["seed"].to_numpy()
        found = {pair: place for place, pair in enumerate(zip(setting.tolist(), seed.tolist(), strict=True))}
        if len(found) < len(seed):
            raise ValueError(SEVERAL)
        seeds, having = np.unique(seed, return_counts=True)  # a setting has a seed at most once
        count = int(setting.max(initial=-1)) + 1
        most = having * 2 > count
        self.seeds = [int(s) for s in seeds[most if most.any() else having == having.max(initial=0)]]
        whole = [k for k in range(count) if all((k, s) in found for s in self.seeds)]
        self.places = np.array([[found[k, s] for s in self.seeds] for k in whole], dtype=int)
        self.places = self.places.reshape(len(whole), len(self.seeds))
        """The position in ``runs`` of setting k at tuning seed j."""
        self.settings = self.runs[self.options].iloc[self.places[:, 0] if whole else []]
        self.left_out = self.runs.loc[~np.isin(setting, whole), self.options].drop_duplicates()
        self._well = (self.runs["state"] == "done").to_numpy(bool)
        known = self.by in self.runs  # a single setting needs no metric to be chosen
        values = self.runs[self.by].to_numpy(float, na_value=np.nan) if known else np.full(len(seed), 0.0)
        self._scores = np.where(self._well & np.isfinite(values), self.sign * values, -np.inf)[self.places]
        has_gap = self.by in LOSSES and GAP in self.runs
        self._gaps = self.values(GAP) if has_gap else np.full(self.places.shape, np.nan)
        further = ~np.isin(seed, self.seeds)
        self._gone_elsewhere = np.isin(whole, setting[~self._well & further])
        self._further = np.bincount(setting[further], minlength=count)[whole]

    def _means(self, without: int | None = None, elsewhere: bool = True) -> np.ndarray:
        """Return the mean score of every setting over the tuning seeds, optionally without one of them.

        With ``elsewhere``, a setting that diverged at a further seed has −∞.
        """
        scores = self._scores if without is None else np.delete(self._scores, without, axis=1)
        means = np.mean(scores, axis=1) if len(scores) else np.empty(0)
        return np.where(self._gone_elsewhere, -np.inf, means) if elsewhere else means

    def _first(self, without: int | None = None, elsewhere: bool = True) -> int | None:
        """Return the place of the best mean; among equal ones that of the lowest f − f*, then the first one, which has
        the smaller values."""
        means = self._means(without, elsewhere)
        return int(self._lowest(_equal(means), without)[0]) if np.isfinite(means).any() else None

    def _lowest(self, places: np.ndarray, without: int | None = None) -> np.ndarray:
        """Return the places with the lowest f − f*; all of them if it is not known of each."""
        gaps = self._gaps if without is None else np.delete(self._gaps, without, axis=1)
        means = np.mean(gaps[places], axis=1)
        return places if np.isnan(means).any() else places[_equal(-means)]

    @cached_property
    def apart(self) -> bool:
        """Whether the best setting by the tuning seeds was run at five or more further seeds, which then report it."""
        place = self._first(elsewhere=False)
        return place is not None and len(self.settings) > 1 and bool(self._further[place] >= FEWEST)

    @cached_property
    def best(self) -> Best | None:
        """The best setting by ``RULE``; None if every setting diverged for some seed.

        Divergence at further seeds counts only if these seeds do not report the result.

        Raises:
            NoData: There are several settings, and no run has the metric that chooses one.
        """
        if self.by not in self.runs and len(self.settings) > 1:
            names = "test_accuracy' or 'test_loss" if self.by == "test_loss" else self.by
            what = what_is_tuned(self.options)
            how = "to choose it by another metric, type --tune-by METRIC"
            raise NoData(f"no run has the metric '{names}', by which the {what} is chosen; {how}")
        means = self._means(elsewhere=not self.apart)
        if (place := self._first(elsewhere=not self.apart)) is None:
            return None
        columns: dict[str, list[Any]] = {option: self.settings[option].tolist() for option in self.options}
        first = {option: column[place] for option, column in columns.items()}
        values = {o: value if isinstance(value, str) else float(value) for o, value in first.items()}
        words = [o for o, value in values.items() if isinstance(value, str)]  # each schedule may have its own grid
        grid = [k for k in range(len(means)) if all(columns[o][k] == values[o] for o in words)]
        edges, idle = [], [option for option in self.options if self._idle(option, means)]
        for option in (o for o in self.options if o not in [*words, *idle]):
            tried = {columns[option][k] for k in grid}
            edges += [option] if len(tried) > 1 and values[option] in (min(tried), max(tried)) else []
        return Best(values, edges, self.seeds, self.settings, self.sign * means, self.left_out, idle)

    def _idle(self, option: str, means: np.ndarray) -> bool:
        """Return whether an option has several values, all with the same mean if the other options are equal."""
        others = [name for name in self.options if name != option]
        among = numbered(self.settings, others) if others else np.zeros(len(means), dtype=int)
        each = [np.flatnonzero(among == group) for group in np.unique(among)]
        same = all(len(_equal(means[some])) == len(self._lowest(some)) == len(some) for some in each)
        return same and any(len(some) > 1 for some in each)

    @cached_property
    def by_the_others(self) -> list[int]:
        """For every tuning seed the setting that the other seeds choose; for a single seed its own choice."""
        each = [self._first(j if len(self.seeds) > 1 else None) for j in range(len(self.seeds))]
        return [place for place in each if place is not None]  # none is None if there is a best setting

    def values(self, metric: str) -> np.ndarray:
        """Return a metric by setting and tuning seed; NaN if the run diverged."""
        return np.where(self._well, self.runs[metric].to_numpy(float, na_value=np.nan), np.nan)[self.places]


def _equal(means: np.ndarray) -> np.ndarray:
    """Return the places of the largest mean and of those that are equal to it."""
    top = np.max(means)
    return np.flatnonzero(means >= top - SAME * abs(top))


def best_setting(finals: pd.DataFrame, over: Sequence[str], by: tuple[str, float] | None = None) -> Best | None:
    """Return the best values of the options ``over`` by ``RULE``, from the runs of one method on one problem.

    ``by`` is a metric and its sign, by default the score. None if every setting diverged for some seed.
    """
    return Grid(finals, over, by).best


@dataclass(frozen=True)
class Reported:
    """The runs that report the result of one method on one problem."""

    best: Best | None  # the choice of all tuning seeds; None if there was no choice, or every setting diverged
    runs: pd.DataFrame  # one row per seed
    how: str  # one of the constants above
    others: tuple[int, ...] = ()  # cross-fitted seeds with another setting than the best

    @property
    def tuned(self) -> bool:
        """Whether the method has options that were tuned."""
        return self.how != UNTUNED

    def values(self, metric: str) -> pd.Series:
        """Return a metric by seed; NaN if the run diverged."""
        well, values = self.runs["state"] == "done", self.runs[metric].to_numpy(float, na_value=np.nan)
        return pd.Series(np.where(well, values, np.nan), pd.Index(self.runs["seed"]), name=metric)

    @property
    def in_words(self) -> str:
        """0–4 (cross-fitted; another setting at 3)"""
        how = [] if self.how in (UNTUNED, ALONE) else [self.how]
        how += [f"another setting at {ranges(self.others)}"] if self.others else []
        return f"{ranges(self.runs['seed'])} ({'; '.join(how)})" if how else ranges(self.runs["seed"])


def report(finals: pd.DataFrame, over: Sequence[str], by: tuple[str, float] | None = None) -> Reported:
    """Return the runs to report of one method on one problem; ``by`` as in ``best_setting``."""
    grid = Grid(finals, over, by)
    best = grid.best
    if best is None:
        return Reported(None, grid.runs.iloc[:0], GONE)
    mine = best.of(grid.runs)
    if best.alone:
        return Reported(best, mine, ALONE)
    if grid.apart:
        return Reported(best, mine[~mine["seed"].isin(best.seeds)], FRESH)
    crossed = grid.runs.iloc[[grid.places[k, j] for j, k in enumerate(grid.by_the_others)]]
    others = tuple(sorted(int(seed) for seed in crossed.loc[~crossed.index.isin(mine.index), "seed"]))
    return Reported(best, crossed, CROSSED if len(best.seeds) > 1 else OWN, others)
