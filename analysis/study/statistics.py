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


def ratio(logs: Interval) -> Interval:
    """From a difference of logarithms to a ratio."""
    return Interval(float(np.exp(logs.value)), float(np.exp(logs.low)), float(np.exp(logs.high)), logs.count)


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
    """The mean with its expanded percentile interval (Hesterberg 2015), wider than the plain one as Student's is than
    the normal; the resamples are the same every time."""
    x = np.asarray(values, dtype=float)
    if len(x) == 0 or not np.isfinite(x).all():
        return Interval(np.nan, np.nan, np.nan, len(x))
    if len(x) < 3:
        return Interval(float(x.mean()), np.nan, np.nan, len(x))
    draws = np.random.default_rng(0).integers(len(x), size=(RESAMPLES, len(x)))
    tail = stats.norm.cdf(-np.sqrt(len(x) / (len(x) - 1)) * stats.t.ppf((1 + LEVEL) / 2, len(x) - 1))
    low, high = np.quantile(x[draws].mean(axis=1), [tail, 1 - tail])
    return Interval(float(x.mean()), float(low), float(high), len(x))


def slope(x: pd.Series, y: pd.Series, seeds: pd.Series) -> Interval:
    """The exponent p of y ∝ x^p: least squares in logarithms per seed, with an interval over seeds.

    There is none where a value is missing (a run diverged), or a seed lacks an x that another has.
    """
    each = []
    for seed in sorted(seeds.unique()):
        a, b = x[seeds == seed].to_numpy(float), y[seeds == seed].to_numpy(float)
        if set(a) != set(x) or not (np.isfinite(b).all() and (b > 0).all()):
            return Interval(np.nan, np.nan, np.nan, seeds.nunique())
        each.append(float(np.polyfit(np.log(a), np.log(b), 1)[0]))
    return mean(np.array(each))


def score(finals: pd.DataFrame) -> tuple[str, float]:
    """What decides between runs: test accuracy (more is better, +1), or test loss where there is none (−1)."""
    has = "test_accuracy" in finals and finals["test_accuracy"].notna().any()
    return ("test_accuracy", 1.0) if has else ("test_loss", -1.0)


RULE = (
    "best stepsize: of those at which every run ended without diverging, the one with the best mean final {score} over "
    "the seeds that most of them have; one that lacks such a seed is set aside; ties go to the smaller"
)


@dataclass(frozen=True)
class Best:
    """The stepsize that the rule picks for one method on one problem."""

    eta: float
    edge: bool  # the smallest or largest of the grid: a better one may lie outside
    grid: list[float]
    seeds: list[int]  # those that stepsizes are compared on
    means: pd.Series  # by stepsize, over those seeds; −∞ for accuracies, ∞ for losses, where a run diverged


def best_stepsize(finals: pd.DataFrame) -> Best | None:
    """By the rule above, of the runs of one method on one problem; None where every stepsize diverged for some seed."""
    name, sign = score(finals)
    runs = finals.dropna(subset="eta")
    having = runs.groupby("seed")["eta"].nunique()
    seeds = sorted(having.index[having * 2 > runs["eta"].nunique()]) or sorted(having.index[having == having.max()])
    held = runs[runs["seed"].isin(seeds)]
    whole = held.groupby("eta")["seed"].nunique() == len(seeds)
    held = held[held["eta"].isin(whole.index[whole])]
    clean = runs.groupby("eta")["state"].agg(lambda states: (states == "done").all())
    means = held.groupby("eta")[name].agg(lambda values: values.astype(float).mean(skipna=False)).sort_index()
    means = means.where(clean.reindex(means.index) & np.isfinite(means), -sign * np.inf)
    if means.empty or not np.isfinite(means).any():
        return None
    eta = float(means.index[int(np.argmax(sign * means.to_numpy()))])
    grid = [float(value) for value in means.index]
    return Best(eta, len(grid) > 1 and eta in (grid[0], grid[-1]), grid, [int(seed) for seed in seeds], means)


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
    means, top = best.means, float(best.means[best.eta])
    good = (means >= top - WITHIN).to_numpy()
    low = high = int(np.flatnonzero(means.index == best.eta)[0])
    while low > 0 and good[low - 1]:
        low -= 1
    while high < len(good) - 1 and good[high + 1]:
        high += 1
    decades = float(np.log10(means.index[high] / means.index[low]))
    lost = [top - float(means[near]) if (near := eta_at_multiple(best, factor)) else np.nan for factor in (10.0, 0.1)]
    return Robustness(best, top, decades, *lost)


def eta_at_multiple(best: Best, factor: float) -> float | None:
    """The stepsize of the grid at this multiple of the best."""
    near = [eta for eta in best.grid if np.isclose(eta, best.eta * factor, rtol=1e-6)]
    return near[0] if near else None


def profile(costs: pd.DataFrame, least: pd.Series) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Performance profiles (Dolan and Moré 2002) of costs to a target, with columns problem, algo, cost, weight.

    For each method: factors τ, and the part of all problems it solved within τ times the ``least`` cost of the
    problem; a problem with several tries counts each by its weight. A missed target is infinite and stays in the
    denominator, also where every method missed it.
    """
    out = {}
    for algo, mine in costs.groupby("algo"):
        ratios = (mine["cost"] / mine["problem"].map(least).where(lambda cost: np.isfinite(cost), 1.0)).to_numpy(float)
        solved = np.isfinite(ratios)
        order = np.argsort(ratios[solved], kind="stable")
        weights = mine["weight"].to_numpy(float)[solved][order]
        out[str(algo)] = (ratios[solved][order], np.cumsum(weights) / costs["problem"].nunique())
    return out
