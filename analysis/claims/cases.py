"""What a claim rests on: numbers with their intervals, and from how many runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from analysis.study.statistics import FEWEST, Interval, by_error, mean, ratio


@dataclass(frozen=True)
class Case:
    """One number: where, how much, from which runs. NaN: a run of it diverged. Without runs: not tested."""

    name: str
    found: Interval
    runs: int
    exact: bool = False  # a maximum or a count, which has no interval
    each: tuple[float, ...] = ()  # the values that it is the mean of, a seed each
    logs: bool = False  # they are logarithms, and what is shown is a ratio
    partial: bool = False  # the worst of two, of which one was not tried: it can reach a bound, not stay below it
    error: tuple[float, float] | None = None  # where no values are known: the standard error, its degrees of freedom

    @property
    def spread(self) -> bool:
        """Whether it is one of a family of intervals."""
        return bool(self.each) or self.error is not None

    def among(self, family: int) -> Case:
        """The same with an interval that holds together with those of all cases of a family."""
        if self.error is not None:
            return replace(self, found=by_error(self.found.value, *self.error, self.found.count, family))
        return replace(self, found=_found(self.each, self.logs, family)) if self.each else self


@dataclass(frozen=True)
class Summary:
    """What is known of runs that are not here."""

    mean: float
    deviation: float
    count: int


def case(name: str, values: Iterable[float], runs: int, logs: bool = False) -> Case:
    """The mean of a value per seed; with ``logs``, of logarithms, shown as a ratio."""
    each = tuple(float(value) for value in values)
    return Case(name, _found(each, logs, 1), runs, each=each, logs=logs)


def _found(each: tuple[float, ...], logs: bool, family: int) -> Interval:
    if np.isposinf(each).any() and not np.isnan(each).any():
        return Interval(np.inf, np.nan, np.nan, len(each))
    found = mean(np.array(each), family)
    return ratio(found) if logs else found


def difference(name: str, ours: Summary, theirs: Summary) -> Case:
    """One mean minus another, of which no more is told than standard deviations and counts: Welch's interval. None
    where one of them is of fewer than five runs."""
    parts = [one.deviation**2 / one.count for one in (ours, theirs)]
    known = min(ours.count, theirs.count) >= FEWEST
    error = float(np.sqrt(sum(parts))) if known else np.nan
    below = sum(part**2 / (one.count - 1) for part, one in zip(parts, (ours, theirs), strict=True)) if known else 0.0
    freedom = sum(parts) ** 2 / below if below else np.inf
    count = ours.count + theirs.count
    value = ours.mean - theirs.mean
    return Case(name, by_error(value, error, freedom, count), count, error=(error, freedom))


def exact(name: str, value: float, runs: int) -> Case:
    """A number without a spread: a maximum, a count."""
    return Case(name, Interval(value, np.nan, np.nan, runs), runs, exact=True)


def untested(name: str) -> Case:
    return Case(name, Interval(np.nan, np.nan, np.nan, 0), 0)
