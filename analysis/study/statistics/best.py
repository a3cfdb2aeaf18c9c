"""The best setting of a method on a problem, and which of its seeds chose it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from analysis.study.statistics.intervals import FEWEST


def score(finals: pd.DataFrame) -> tuple[str, float]:
    """What runs are judged by: test accuracy (more is better, +1), or test loss where there is none (−1)."""
    has = "test_accuracy" in finals and finals["test_accuracy"].notna().any()
    return ("test_accuracy", 1.0) if has else ("test_loss", -1.0)


RULE = (
    "best {what}: of those at which every run ended without diverging, the one with the best mean final "
    "{score} over the seeds that most of them have; one that lacks such a seed is set aside; ties go to the smaller"
)


@dataclass(frozen=True)
class Best:
    """The setting that the rule picks for one method on one problem: a value for every option it was tuned over."""

    values: dict[str, float | str]  # numbers, and the name of a schedule
    edges: list[str]  # options at the smallest or largest value of their grid: a better one may lie outside
    seeds: list[int]  # the tuning seeds, at which settings are compared
    means: pd.Series  # by setting, over those seeds; −∞ for accuracies, ∞ for losses, where a run diverged

    @property
    def alone(self) -> bool:
        """Whether there was nothing to choose from."""
        return len(self.means) == 1

    def of(self, runs: pd.DataFrame, but: str | None = None) -> pd.DataFrame:
        """The runs with the chosen values; the option ``but`` may have any."""
        keep = pd.Series(True, index=runs.index)
        for option, value in self.values.items():
            keep &= (runs[option] == value) | (option == but)
        return runs[keep]

    def along(self, option: str) -> pd.Series:
        """The means by the values of one option, the others at their best."""
        return self.of(self.means.rename("mean").reset_index(), but=option).set_index(option)["mean"]


SAME = 3e-7
"""As a part of a score: what does not tell two settings apart."""


class Grid:
    """The runs of one method on one problem, setting by setting and seed by seed, to be compared by a score: those of
    the settings that were run at every tuning seed, which are the seeds that most settings have."""

    def __init__(self, finals: pd.DataFrame, over: Sequence[str], by: tuple[str, float] | None = None) -> None:
        name, self.sign = by or score(finals)
        self.options = list(over)
        known = finals[self.options].notna().all(axis=1)
        self.runs = finals if known.all() else finals[known]
        """Of all settings and seeds."""
        setting = self.runs[self.options].groupby(self.options).ngroup().to_numpy()
        seed = self.runs["seed"].to_numpy()
        having = pd.Series(setting).groupby(seed).nunique()
        most = having * 2 > len(np.unique(setting))
        self.seeds = [int(s) for s in sorted(having.index[most]) or sorted(having.index[having == having.max()])]
        found = {pair: place for place, pair in enumerate(zip(setting, seed, strict=True))}
        if len(found) < len(seed):
            raise ValueError("several runs have one setting and one seed: they are not of one problem")
        whole = [k for k in range(len(np.unique(setting))) if all((k, s) in found for s in self.seeds)]
        self.places = np.array([[found[k, s] for s in self.seeds] for k in whole], dtype=int)
        self.places = self.places.reshape(len(whole), len(self.seeds))
        """Of setting k at tuning seed j: its place among the runs."""
        self.settings = self.runs.iloc[self.places[:, 0]][self.options] if whole else self.runs.iloc[:0][self.options]
        well = (self.runs["state"] == "done").to_numpy()
        values = (
            self.runs[name].to_numpy(dtype=float, na_value=np.nan) if name in self.runs else np.full(len(seed), np.nan)
        )
        self._scores = np.where(well & np.isfinite(values), self.sign * values, -np.inf)[self.places]
        gone = {int(k) for k in setting[~well & ~np.isin(seed, self.seeds)]}
        self._gone_elsewhere = np.array([k in gone for k in whole], dtype=bool)
        further = [set(seed[setting == k]) - set(self.seeds) for k in whole]
        self._further = np.array([len(some) for some in further], dtype=int)

    def _means(self, without: int | None = None, elsewhere: bool = True) -> np.ndarray:
        """Of every setting over the tuning seeds, one of which may be left out; the more the better."""
        scores = self._scores if without is None else np.delete(self._scores, without, axis=1)
        means = np.mean(scores, axis=1) if len(scores) else np.empty(0)
        return np.where(self._gone_elsewhere, -np.inf, means) if elsewhere else means

    @cached_property
    def apart(self) -> bool:
        """Whether the best by the tuning seeds alone was run at five further seeds or more, which then report it."""
        place = _first(self._means(elsewhere=False))
        return place is not None and len(self.settings) > 1 and bool(self._further[place] >= FEWEST)

    @cached_property
    def best(self) -> Best | None:
        """By the rule above; further seeds have a say (by diverging) only where they do not report. None where every
        setting diverged for some seed."""
        means = self._means(elsewhere=not self.apart)
        if (place := _first(means)) is None:
            return None
        (first,) = self.settings.iloc[[place]].to_dict("records")
        values = {str(o): value if isinstance(value, str) else float(value) for o, value in first.items()}
        words = [o for o, value in values.items() if isinstance(value, str)]  # of which every one may have its own grid
        grid = self.settings[(self.settings[words] == pd.Series(first)[words]).all(axis=1)].drop(columns=words)
        edges = [str(o) for o in grid if grid[o].nunique() > 1 and values[str(o)] in (grid[o].min(), grid[o].max())]
        by_setting = pd.Series(self.sign * means, index=pd.MultiIndex.from_frame(self.settings))
        return Best(values, edges, self.seeds, by_setting)

    @cached_property
    def by_the_others(self) -> list[int]:
        """For every tuning seed the setting that the other seeds choose; of a single seed, its own choice."""
        if self.best is None:
            return []
        each = [_first(self._means(j if len(self.seeds) > 1 else None)) for j in range(len(self.seeds))]
        return [place for place in each if place is not None]  # what is best for all seeds is there for each

    def values(self, metric: str) -> np.ndarray:
        """Of every setting at every tuning seed; NaN where a run diverged."""
        found = self.runs[metric].astype(float).where(self.runs["state"] == "done").to_numpy()
        return found[self.places]


def _first(means: np.ndarray) -> int | None:
    """The place of the best; of equals the first, which is the smaller. Archives are in single precision: what differs
    by less is equal."""
    if not np.isfinite(means).any():
        return None
    top = np.max(means)
    return int(np.flatnonzero(means >= top - SAME * abs(top))[0])


def best_setting(finals: pd.DataFrame, over: Sequence[str], by: tuple[str, float] | None = None) -> Best | None:
    """By the rule above, of the runs of one method on one problem, the best values of the options ``over``; of settings
    that tie, the smaller in the first option in which they differ; ``by`` the score, or another metric and its sign.
    None where each diverged for some seed."""
    return Grid(finals, over, by).best
