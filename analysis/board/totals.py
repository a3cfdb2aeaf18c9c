"""Totals of a method over workloads, and tiers of methods whose totals do not differ beyond their seeds.

Workloads are fixed and seeds are random. A workload's weight is equal within its stratum, and strata are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.study.statistics import Interval
from analysis.study.statistics.intervals import by_error

COMPARISONS = 31
"""The number of simultaneous intervals, each at the level 1 − 0.05/31. It is fixed: a new method moves none."""

Scores = Mapping[str, pd.Series]
"""The scores of one method: by workload, a series over the report seeds."""


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
    share = weights(strata)
    if not share or any(name not in scores or not len(scores[name]) for name in share):
        return Interval(np.nan, np.nan, np.nan, 0)
    groups: dict[tuple[object, ...], list[pd.Series]] = {}
    for name, weight in share.items():
        some = scores[name].sort_index()
        groups.setdefault(tuple(some.index), []).append(weight * some)
    sums = [sum(parts[1:], parts[0]).to_numpy(float) for parts in groups.values()]
    value = float(sum(values.mean() for values in sums))
    count = min(map(len, sums))
    if count < 2:
        return Interval(value, np.nan, np.nan, count)
    variances = np.array([values.var(ddof=1) / len(values) for values in sums])
    if not variances.sum() > 0:
        return Interval(value, value, value, count)
    freedom = variances.sum() ** 2 / sum(v**2 / (len(x) - 1) for v, x in zip(variances, sums, strict=True))
    return by_error(value, float(np.sqrt(variances.sum())), float(freedom), count, comparisons)


def difference(ours: Scores, theirs: Scores, strata: Mapping[str, str], comparisons: int = COMPARISONS) -> Interval:
    """Return our total less theirs, paired by seed: only seeds that both have count."""
    apart = {name: (ours[name] - theirs[name]).dropna() for name in strata if name in ours and name in theirs}
    return total(apart, strata, comparisons)


def tiers(scores: Mapping[str, Scores], strata: Mapping[str, str], comparisons: int = COMPARISONS) -> Tiers:
    """Return the tiers: 1 are the methods that are not below the best one, 2 those of the rest, and so on.

    A method is below another if the interval of the difference is below 0. Methods that lack a workload have no tier.
    """
    means = {method: total(mine, strata).value for method, mine in scores.items()}
    left = sorted((method for method, mean in means.items() if np.isfinite(mean)), key=lambda m: (-means[m], m))
    tier, behind, number = dict[str, int](), dict[str, Interval](), 0
    while left:
        number += 1
        best = left[0]
        gaps = {method: difference(scores[method], scores[best], strata, comparisons) for method in left}
        inside = [method for method in left if not gaps[method].high < 0]
        tier |= dict.fromkeys(inside, number)
        behind |= {method: gaps[method] for method in inside}
        left = [method for method in left if method not in tier]
    return Tiers(tier, behind)


def tier_ranges(
    scores: Mapping[str, Scores], strata: Mapping[str, str], comparisons: int = COMPARISONS
) -> dict[str, tuple[int, int]]:
    """Return the lowest and highest tier of each method when any one workload is left out."""
    found = dict[str, list[int]]()
    for left_out in strata:
        rest = {name: stratum for name, stratum in strata.items() if name != left_out}
        for method, number in tiers(scores, rest, comparisons).tier.items() if rest else ():
            found.setdefault(method, []).append(number)
    return {method: (min(numbers), max(numbers)) for method, numbers in found.items()}


def stratum_means(scores: Scores, strata: Mapping[str, str]) -> dict[str, float]:
    """Return the mean score of each stratum; NaN if one of its workloads is missing."""
    out = {}
    for stratum in dict.fromkeys(strata.values()):
        names = [name for name, of in strata.items() if of == stratum]
        out[stratum] = total(scores, dict.fromkeys(names, stratum)).value
    return out
