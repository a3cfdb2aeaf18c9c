"""Cases: the numbers behind a claim, with confidence intervals and counts of runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.study.statistics import FEWEST, Interval, mean, ratio
from analysis.study.statistics.intervals import by_error


@dataclass(frozen=True)
class Case:
    """One number of a claim. Create it with ``case``, ``difference``, ``exact`` or ``untested``.

    Attributes:
        name: What the number is about, such as a method or a dataset.
        found: The value with its interval. NaN if a run diverged.
        runs: The number of runs; 0 if the case is not tested.
        exact: True for a maximum or a count, which has no interval.
        each: The values whose mean it is, one per seed.
        logs: True if the values are logarithms, and the case shows a ratio.
        partial: True for the worst of two, of which one was not run. It can exceed a bound, but not satisfy it.
        error: The standard error and its degrees of freedom, if the values are not known.
    """

    name: str
    found: Interval
    runs: int
    exact: bool = False
    each: tuple[float, ...] = ()
    logs: bool = False
    partial: bool = False
    error: tuple[float, float] | None = None

    @property
    def spread(self) -> bool:
        """Whether the case has an interval, and counts in a family of intervals."""
        return bool(self.each) or self.error is not None

    def among(self, family: int) -> Case:
        """Return the case with an interval that is simultaneous with so many others."""
        if self.error is not None:
            return replace(self, found=by_error(self.found.value, *self.error, self.found.count, family))
        return replace(self, found=_found(self.each, self.logs, family)) if self.each else self


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation and count of runs whose values are not available."""

    mean: float
    deviation: float
    count: int


def per_seed(runs: pd.DataFrame, metric: str) -> pd.Series:
    """Return the mean of a metric over the runs of each seed; NaN, which satisfies no bound, if one of them diverged.

    Args:
        runs: Rows of ``results.finals``.
        metric: The metric. Runs that did not measure it are left out.

    Example:
        >>> per_seed(results.finals, "train_loss")
    """
    well = runs["state"] == "done"
    values = runs[metric].astype(float).where(well)
    known = values.notna() | ~well
    return values[known].groupby(runs.loc[known, "seed"]).agg(lambda some: some.mean(skipna=False))


def case(name: str, values: Iterable[float], runs: int, logs: bool = False) -> Case:
    """Return the mean of values, with its 95 % confidence interval, as a case.

    Args:
        name: What the number is about.
        values: One value per seed, as ``per_seed`` returns them.
        runs: The number of runs behind the values.
        logs: True if the values are logarithms; the case then shows a ratio.

    Example:
        >>> case("dsgd", per_seed(runs, "train_loss"), len(runs))
    """
    each = tuple(float(value) for value in values)
    return Case(name, _found(each, logs, 1), runs, each=each, logs=logs)


def _found(each: tuple[float, ...], logs: bool, family: int) -> Interval:
    if np.isposinf(each).any() and not np.isnan(each).any():
        return Interval(np.inf, np.nan, np.nan, len(each))
    found = mean(np.array(each), family)
    return ratio(found) if logs else found


def difference(name: str, ours: Summary, theirs: Summary) -> Case:
    """Return the mean of ours minus that of theirs as a case, with Welch's interval.

    It has no interval if a summary is of fewer than five runs.
    """
    parts = [one.deviation**2 / one.count for one in (ours, theirs)]
    known = min(ours.count, theirs.count) >= FEWEST
    error = float(np.sqrt(sum(parts))) if known else np.nan
    below = sum(part**2 / (one.count - 1) for part, one in zip(parts, (ours, theirs), strict=True)) if known else 0.0
    freedom = sum(parts) ** 2 / below if below else np.inf
    count = ours.count + theirs.count
    return Case(name, by_error(ours.mean - theirs.mean, error, freedom, count), count, error=(error, freedom))


def exact(name: str, value: float, runs: int) -> Case:
    """Return a number without an interval, such as a maximum or a count, as a case."""
    return Case(name, Interval(value, np.nan, np.nan, runs), runs, exact=True)


def untested(name: str) -> Case:
    """Return a case without runs."""
    return Case(name, Interval(np.nan, np.nan, np.nan, 0), 0)
