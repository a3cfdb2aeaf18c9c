"""The statistics of the figures, tables and verdicts. Seeds are paired: all methods see the same samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

LEVEL = 0.95
RESAMPLES = 10_000


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval at 95 %; without one where there are too few values."""

    value: float
    low: float
    high: float
    count: int


def mean(values: np.ndarray | pd.Series) -> Interval:
    """Student's interval of a mean; none from fewer than three values."""
    x = np.asarray(values, dtype=float)
    if len(x) == 0 or not np.isfinite(x).all():
        return Interval(np.nan, np.nan, np.nan, len(x))
    if len(x) < 3:
        return Interval(float(x.mean()), np.nan, np.nan, len(x))
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x)))
    return Interval(float(x.mean()), float(x.mean()) - half, float(x.mean()) + half, len(x))


def paired(ours: pd.Series, theirs: pd.Series) -> Interval:
    """The mean of ours − theirs over the seeds both have, with a bootstrap interval over seeds."""
    both = pd.concat([ours, theirs], axis=1, join="inner").to_numpy(dtype=float)
    return bootstrap(both[:, 0] - both[:, 1])


def bootstrap(values: np.ndarray) -> Interval:
    """The mean with its percentile interval; the resamples are the same every time."""
    x = np.asarray(values, dtype=float)
    if len(x) == 0 or not np.isfinite(x).all():
        return Interval(np.nan, np.nan, np.nan, len(x))
    if len(x) < 3:
        return Interval(float(x.mean()), np.nan, np.nan, len(x))
    draws = np.random.default_rng(0).integers(len(x), size=(RESAMPLES, len(x)))
    low, high = np.quantile(x[draws].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(x.mean()), float(low), float(high), len(x))


def slope(x: pd.Series, y: pd.Series, seeds: pd.Series) -> Interval:
    """The exponent p of y ∝ x^p: least squares in logarithms per seed, with an interval over seeds."""
    each = []
    for seed in sorted(seeds.unique()):
        a, b = x[seeds == seed].to_numpy(float), y[seeds == seed].to_numpy(float)
        if len(np.unique(a)) >= 2 and (b > 0).all() and np.isfinite(b).all():
            each.append(float(np.polyfit(np.log(a), np.log(b), 1)[0]))
    return mean(np.array(each))


def score(finals: pd.DataFrame) -> tuple[str, float]:
    """What decides between runs: test accuracy (more is better, +1), or test loss where there is none (−1)."""
    has = "test_accuracy" in finals and finals["test_accuracy"].notna().any()
    return ("test_accuracy", 1.0) if has else ("test_loss", -1.0)


RULE = (
    "best stepsize: of those at which every seed ended without diverging, the one with the best mean final {score} "
    "over the seeds that all of them have; ties go to the smaller"
)


@dataclass(frozen=True)
class Best:
    """The stepsize that the rule picks for one method on one problem."""

    eta: float
    edge: bool  # the smallest or largest of the grid: a better one may lie outside
    grid: list[float]


def best_stepsize(finals: pd.DataFrame) -> Best | None:
    """By the rule above, of the runs of one method on one problem; None where every stepsize diverged for some seed."""
    name, sign = score(finals)
    grid = sorted(finals["eta"].dropna().unique())
    common = set.intersection(*(set(finals.loc[finals["eta"] == eta, "seed"]) for eta in grid)) if grid else set()
    pool = finals[finals["seed"].isin(common)] if common else finals
    by_eta = pool.groupby("eta")
    clean = by_eta["state"].agg(lambda states: (states == "done").all())
    means = sign * by_eta[name].mean()[clean]
    means = means[np.isfinite(means)]
    if means.empty:
        return None
    eta = float(means.index[int(np.argmax(means.to_numpy()))])
    return Best(eta, len(grid) > 1 and eta in (grid[0], grid[-1]), [float(value) for value in grid])


@dataclass(frozen=True)
class Robustness:
    """How much a method cares about its stepsize, on one problem."""

    best: Best
    accuracy: float
    decades: float  # log10 of the widest range around the best with a mean within 0.5 points of its
    lost_up: float  # points lost at ten times the best; NaN: off the grid; infinite: it diverged
    lost_down: float


WITHIN = 0.5


def robustness(finals: pd.DataFrame) -> Robustness | None:
    """From the runs of one tuned method on one problem with accuracies."""
    best = best_stepsize(finals)
    if best is None or score(finals)[0] != "test_accuracy":
        return None
    by_eta = finals.groupby("eta")
    clean = by_eta["state"].agg(lambda states: (states == "done").all())
    means = by_eta["test_accuracy"].mean().where(clean, -np.inf).sort_index()
    top = float(means[best.eta])
    good = (means >= top - WITHIN).to_numpy()
    low = high = int(np.flatnonzero(means.index == best.eta)[0])
    while low > 0 and good[low - 1]:
        low -= 1
    while high < len(good) - 1 and good[high + 1]:
        high += 1
    decades = float(np.log10(means.index[high] / means.index[low]))

    def lost(factor: float) -> float:
        near = np.isclose(means.index, best.eta * factor, rtol=1e-6)
        return top - float(means.to_numpy()[near][0]) if near.any() else np.nan

    return Robustness(best, top, decades, lost(10.0), lost(0.1))


def profile(costs: pd.DataFrame, least: pd.Series | None = None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Performance profiles (Dolan and Moré 2002) of a table problems × methods of costs to a target.

    For each method: factors τ, and the part of all problems it solved within τ times the least cost, that
    of the row unless it is given. A missed target is infinite and stays in the denominator, also where
    every method missed it.
    """
    values = costs.to_numpy(float)
    best = (costs.min(axis=1) if least is None else least).to_numpy(float)[:, None]
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isfinite(values), values / np.where(np.isfinite(best), best, 1), np.inf)
    out = {}
    for column, name in enumerate(costs.columns):
        solved = np.sort(ratios[:, column][np.isfinite(ratios[:, column])])
        out[str(name)] = (solved, np.arange(1, len(solved) + 1) / len(values))
    return out
