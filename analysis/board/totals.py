"""Totals of a method over workloads, and tiers: which totals the intervals separate from the best one.

Workloads are fixed and seeds are random. A workload's weight is equal within its stratum, and strata are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.study.statistics import Interval
from analysis.study.statistics.intervals import by_error

COMPARISONS = 465
"""The number of simultaneous intervals, each at the level 1 − 0.05/465: 31 entrants have so many pairs."""

Scores = Mapping[str, pd.Series]
"""The scores of one method: by workload, a series over the report seeds."""
Sample = tuple[tuple[object, ...], np.ndarray]
"""Seeds and the scores at them. Arrays make the many comparisons of tiers fast."""


@dataclass(frozen=True)
class Tiers:
    """The tier of every ranked method.

    Attributes:
        tier: The tier by method, from 1.
        behind: The difference from the best method of its tier, the method less the best.
    """

    tier: dict[str, int]
    behind: dict[str, Interval]


def weights(strata: Mapping[str, str]) -> dict[str, float]:
    """Return the weight of each workload in the total, from its stratum: strata are equal, and workloads within one."""
    names = list(strata.values())
    return {workload: 1 / len(set(names)) / names.count(stratum) for workload, stratum in strata.items()}


def total(scores: Scores, strata: Mapping[str, str], comparisons: int = 1) -> Interval:
    """Return the weighted mean score with Student's interval over the seeds.

    Workloads with the same seeds make one total per seed. Totals of different seeds are independent, so that their
    variances add, with the degrees of freedom of Welch and Satterthwaite. The value is NaN if a workload is missing.
    """
    return _total(_samples(scores), strata, comparisons)


def difference(ours: Scores, theirs: Scores, strata: Mapping[str, str], comparisons: int = COMPARISONS) -> Interval:
    """Return our total less theirs, paired by seed: only seeds that both have count."""
    return _total(_apart(_samples(ours), _samples(theirs)), strata, comparisons)


def tiers(scores: Mapping[str, Scores], strata: Mapping[str, str], comparisons: int = COMPARISONS) -> Tiers:
    """Return the tiers: 1 are the methods that are not below the best one, 2 those of the rest, and so on.

    A method is below another if the interval of the difference is below 0. Methods that lack a workload have no tier.
    """
    return _tiers({method: _samples(mine) for method, mine in scores.items()}, strata, comparisons)


def _samples(scores: Scores) -> dict[str, Sample]:
    """Return the scores as arrays, in the order of the seeds."""
    ordered = {name: some.sort_index() for name, some in scores.items()}
    return {name: (tuple(some.index), some.to_numpy(float)) for name, some in ordered.items()}


def _apart(ours: Mapping[str, Sample], theirs: Mapping[str, Sample]) -> dict[str, Sample]:
    """Return the differences of the seeds that both have."""
    out: dict[str, Sample] = {}
    for name in ours.keys() & theirs.keys():
        (seeds, mine), (others, other) = ours[name], theirs[name]
        if seeds != others:
            both = [seed for seed in seeds if seed in others]
            mine, other = mine[[seeds.index(seed) for seed in both]], other[[others.index(seed) for seed in both]]
            seeds = tuple(both)
        out[name] = seeds, mine - other
    return out


def _total(scores: Mapping[str, Sample], strata: Mapping[str, str], comparisons: int) -> Interval:
    share = weights(strata)
    if not share or any(name not in scores or not len(scores[name][1]) for name in share):
        return Interval(np.nan, np.nan, np.nan, 0)
    groups: dict[tuple[object, ...], np.ndarray] = {}
    for name, weight in share.items():
        seeds, values = scores[name]
        groups[seeds] = groups.get(seeds, 0.0) + weight * values
    sums = list(groups.values())
    value = float(sum(values.mean() for values in sums))
    count = min(map(len, sums))
    if count < 2:
        return Interval(value, np.nan, np.nan, count)
    variances = np.array([values.var(ddof=1) / len(values) for values in sums])
    if not variances.sum() > 0:
        return Interval(value, value, value, count)
    freedom = variances.sum() ** 2 / sum(v**2 / (len(x) - 1) for v, x in zip(variances, sums, strict=True))
    return by_error(value, float(np.sqrt(variances.sum())), float(freedom), count, comparisons)


def _tiers(scores: Mapping[str, Mapping[str, Sample]], strata: Mapping[str, str], comparisons: int) -> Tiers:
    means = {method: _total(mine, strata, 1).value for method, mine in scores.items()}
    left = sorted((method for method, mean in means.items() if np.isfinite(mean)), key=lambda m: (-means[m], m))
    tier, behind, number = dict[str, int](), dict[str, Interval](), 0
    while left:
        number += 1
        best = left[0]
        gaps = {method: _total(_apart(scores[method], scores[best]), strata, comparisons) for method in left}
        inside = [method for method in left if not gaps[method].high < 0]
        tier |= dict.fromkeys(inside, number)
        behind |= {method: gaps[method] for method in inside}
        left = [method for method in left if method not in tier]
    return Tiers(tier, behind)


def pairs(
    scores: Mapping[str, Scores], strata: Mapping[str, str], comparisons: int = COMPARISONS
) -> Iterator[tuple[str, str, Interval]]:
    """Yield every pair of methods with the difference of their totals, the one with the higher total first."""
    samples = {method: _samples(mine) for method, mine in scores.items()}
    means = {method: _total(mine, strata, 1).value for method, mine in samples.items()}
    order = sorted((method for method, mean in means.items() if np.isfinite(mean)), key=lambda m: (-means[m], m))
    for place, method in enumerate(order):
        for other in order[place + 1 :]:
            yield method, other, _total(_apart(samples[method], samples[other]), strata, comparisons)


def tier_ranges(
    scores: Mapping[str, Scores], strata: Mapping[str, str], comparisons: int = COMPARISONS
) -> dict[str, tuple[int, int]]:
    """Return the lowest and highest tier of each method when any one workload is left out."""
    found = dict[str, list[int]]()
    samples = {method: _samples(mine) for method, mine in scores.items()}
    for left_out in strata:
        rest = {name: stratum for name, stratum in strata.items() if name != left_out}
        for method, number in _tiers(samples, rest, comparisons).tier.items() if rest else ():
            found.setdefault(method, []).append(number)
    return {method: (min(numbers), max(numbers)) for method, numbers in found.items()}


def stratum_means(scores: Scores, strata: Mapping[str, str]) -> dict[str, float]:
    """Return the mean score of each stratum; NaN if one of its workloads is missing."""
    out = {}
    for stratum in dict.fromkeys(strata.values()):
        names = [name for name, of in strata.items() if of == stratum]
        out[stratum] = total(scores, dict.fromkeys(names, stratum)).value
    return out
