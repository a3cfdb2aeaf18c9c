"""Confidence intervals: Student's over seeds, a hierarchical bootstrap over problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy import stats

LEVEL = 0.95
FEWEST = 5
"""The number of values from which a mean has an interval, and of further seeds that report a result alone."""
FEWEST_PROBLEMS = 3
"""The number of problems from which a mean over problems has an interval."""
RESAMPLES = 10_000


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % confidence interval; the limits are NaN if there are too few values."""

    value: float
    low: float
    high: float
    count: int

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))


def ratio(logs: Interval) -> Interval:
    """Convert a difference of logarithms to a ratio."""
    return Interval(float(np.exp(logs.value)), float(np.exp(logs.low)), float(np.exp(logs.high)), logs.count)


def mean(values: np.ndarray | pd.Series, family: int = 1) -> Interval:
    """Return a mean with Student's interval; without an interval from fewer than five values.

    Each of a ``family`` of m simultaneous intervals has the level 1 − 0.05/m (Bonferroni).
    """
    x = np.asarray(values, dtype=float)
    if len(x) == 0 or not np.isfinite(x).all():
        return Interval(np.nan, np.nan, np.nan, len(x))
    if len(x) < FEWEST:
        return Interval(float(x.mean()), np.nan, np.nan, len(x))
    return by_error(float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))), len(x) - 1, len(x), family)


def by_error(value: float, error: float, freedom: float, count: int, family: int = 1) -> Interval:
    """Return Student's interval from a standard error and its degrees of freedom; none if the error is NaN."""
    half = float(_student(freedom, family) * error)
    return Interval(value, value - half, value + half, count)


@cache
def _student(freedom: float, family: int = 1) -> float:
    """Return the quantile of Student's distribution for one interval of a family."""
    return float(stats.t.isf((1 - LEVEL) / max(family, 1) / 2, freedom))


def paired(ours: pd.Series, theirs: pd.Series, family: int = 1) -> Interval:
    """Return the mean of ours − theirs over common seeds, as one of a ``family``; the first run of a seed counts."""
    one, other = (_by_seed(values) for values in (ours, theirs))  # without pandas, since tables compare many pairs
    return mean(np.array([value - other[seed] for seed, value in one.items() if seed in other]), family)


def _by_seed(values: pd.Series) -> dict[object, float]:
    """Return the first value of every seed."""
    out: dict[object, float] = {}
    for seed, value in zip(values.index.tolist(), values.to_numpy(dtype=float).tolist(), strict=True):
        out.setdefault(seed, value)
    return out


def significantly_different(ours: pd.Series, theirs: pd.Series, family: int = 1) -> bool | None:
    """Return whether the interval of the paired difference excludes 0; None if there are too few seeds."""
    gap = paired(ours, theirs, family)
    return bool(gap.low > 0 or gap.high < 0) if gap.known else None


def significantly_better(ours: pd.Series, theirs: pd.Series, more: bool, family: int = 1) -> bool:
    """Return whether the interval of the paired difference excludes 0 and has the sign of a better value of ours.

    The means over all seeds may differ in the other direction if the seeds are not the same.
    """
    gap = paired(ours, theirs, family)
    return bool(gap.known and (gap.low > 0 if more else gap.high < 0))


def across(problems: Sequence[np.ndarray | pd.Series]) -> Interval:
    """Return the mean over problems of their means over seeds, with an interval for similar problems.

    The standard error is that of a hierarchical bootstrap with a fixed seed: it draws problems, then seeds within each.
    The degrees of freedom are the problems less one; fewer than three problems have no interval. The interval is
    conservative if problems differ less than their seeds.
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
    error = np.sqrt(count / (count - 1)) * means.mean(axis=1).std()  # the factor removes the bias of the bootstrap
    return by_error(value, error, count - 1, count)


def exponents(x: pd.Series, y: pd.Series, seeds: pd.Series) -> list[float]:
    """Return the exponent p of y ∝ x^p for every seed, by least squares in logarithms.

    NaN if a value is missing (a run diverged), or if a seed lacks an x that another seed has.
    """
    out = []
    for seed in sorted(seeds.unique()):
        a, b = x[seeds == seed].to_numpy(float), y[seeds == seed].to_numpy(float)
        whole = set(a) == set(x.astype(float)) and bool(np.isfinite(b).all() and (b > 0).all())
        out.append(float(np.polyfit(np.log(a), np.log(b), 1)[0]) if whole else np.nan)
    return out


def slope(x: pd.Series, y: pd.Series, seeds: pd.Series) -> Interval:
    """Return the mean of the exponents with an interval over seeds; NaN if one is NaN."""
    return mean(np.array(exponents(x, y, seeds)))
