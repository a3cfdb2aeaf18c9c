"""Intervals: Student's within a case, a hierarchical bootstrap over several problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy import stats

LEVEL = 0.95
FEWEST = 5
"""Values from which a mean has an interval, and further seeds from which a number is reported from them alone."""
FEWEST_PROBLEMS = 3
"""Problems from which a mean over them has one."""
RESAMPLES = 10_000


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval at 95 %; without one where there are too few values."""

    value: float
    low: float
    high: float
    count: int

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))


def ratio(logs: Interval) -> Interval:
    """From a difference of logarithms to a ratio."""
    return Interval(float(np.exp(logs.value)), float(np.exp(logs.low)), float(np.exp(logs.high)), logs.count)


def mean(values: np.ndarray | pd.Series, family: int = 1) -> Interval:
    """Student's interval of a mean; none from fewer than five values. Of a ``family`` of m that are looked at together
    each has the level 1 − 0.05/m (Bonferroni): all m hold at once in 95 % of cases, however they depend on each other.
    """
    x = np.asarray(values, dtype=float)
    if len(x) == 0 or not np.isfinite(x).all():
        return Interval(np.nan, np.nan, np.nan, len(x))
    if len(x) < FEWEST:
        return Interval(float(x.mean()), np.nan, np.nan, len(x))
    half = float(_student(len(x) - 1, family) * x.std(ddof=1) / np.sqrt(len(x)))
    return Interval(float(x.mean()), float(x.mean()) - half, float(x.mean()) + half, len(x))


def by_error(value: float, error: float, freedom: float, count: int, family: int = 1) -> Interval:
    """Student's interval from a standard error; none where that is not known."""
    half = float(_student(freedom, family) * error)
    return Interval(value, value - half, value + half, count)


@cache
def _student(freedom: float, family: int = 1) -> float:
    """How many standard errors an interval reaches, with so many degrees of freedom, as one of a family."""
    return float(stats.t.isf((1 - LEVEL) / max(family, 1) / 2, freedom))


def paired(ours: pd.Series, theirs: pd.Series, family: int = 1) -> Interval:
    """The mean of ours − theirs over the seeds that both have, one of a ``family`` of differences. Of several runs
    with one seed, the first counts."""
    once = [values[~values.index.duplicated()] for values in (ours, theirs)]
    both = pd.concat(once, axis=1, join="inner").to_numpy(dtype=float)
    return mean(both[:, 0] - both[:, 1], family)


def significantly_different(ours: pd.Series, theirs: pd.Series, family: int = 1) -> bool | None:
    """Whether the interval of the paired difference leaves 0 out; None where there are too few seeds for one."""
    gap = paired(ours, theirs, family)
    return bool(gap.low > 0 or gap.high < 0) if gap.known else None


def across(problems: Sequence[np.ndarray | pd.Series]) -> Interval:
    """The mean over problems of their means over seeds, with an interval for problems like these.

    Student's, with the standard error of a hierarchical bootstrap: problems are drawn, then seeds within each, the same
    every time. As many degrees of freedom as problems less one, so below three problems there is none. Where problems
    differ by less than their seeds do it is conservative: seeds have then been drawn twice over.
    """
    x = [np.asarray(values, dtype=float) for values in problems]
    count = len(x)
    if count == 0 or not all(len(values) and np.isfinite(values).all() for values in x):
        return Interval(np.nan, np.nan, np.nan, count)
    value = float(np.mean([values.mean() for values in x]))
    if count < FEWEST_PROBLEMS:
        return Interval(value, np.nan, np.nan, count)
    draws = np.random.default_rng(0)
    which = draws.integers(count, size=(RESAMPLES, count))
    means = np.empty(which.shape)
    for number, values in enumerate(x):
        drawn = which == number
        means[drawn] = values[draws.integers(len(values), size=(int(drawn.sum()), len(values)))].mean(axis=1)
    error = (
        np.sqrt(count / (count - 1)) * means.mean(axis=1).std()
    )  # of k drawn from k, the spread is too small by this
    half = float(_student(count - 1) * error)
    return Interval(value, value - half, value + half, count)


def exponents(x: pd.Series, y: pd.Series, seeds: pd.Series) -> list[float]:
    """For every seed the exponent p of y ∝ x^p, by least squares in logarithms: NaN where a value is missing (a run
    diverged), or a seed lacks an x that another has."""
    out = []
    for seed in sorted(seeds.unique()):
        a, b = x[seeds == seed].to_numpy(float), y[seeds == seed].to_numpy(float)
        whole = set(a) == set(x.astype(float)) and bool(np.isfinite(b).all() and (b > 0).all())
        out.append(float(np.polyfit(np.log(a), np.log(b), 1)[0]) if whole else np.nan)
    return out


def slope(x: pd.Series, y: pd.Series, seeds: pd.Series) -> Interval:
    """The mean of these exponents, with an interval over seeds; none where one is missing."""
    return mean(np.array(exponents(x, y, seeds)))
