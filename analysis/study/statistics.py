"""The statistics of the figures, tables and verdicts. Seeds are paired: all methods see the same samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

LEVEL = 0.95
RESAMPLES = 10_000
WITHIN = 0.5


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


def told_apart(ours: pd.Series, theirs: pd.Series) -> bool | None:
    """Whether the interval of the paired difference leaves 0 out; None where there are too few seeds for one."""
    gap = paired(ours, theirs)
    return bool(gap.low > 0 or gap.high < 0) if np.isfinite(gap.low) else None


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
    "best {what}: of those at which every run ended without diverging, the one with the best mean final {score} over "
    "the seeds that most of them have; one that lacks such a seed is set aside; ties go to the smaller"
)


@dataclass(frozen=True)
class Best:
    """The setting that the rule picks for one method on one problem: a value for every option it was tuned over."""

    values: dict[str, float | str]  # numbers, and the name of a schedule
    edges: list[str]  # options at the smallest or largest value of their grid: a better one may lie outside
    seeds: list[int]  # those that settings are compared on
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


def best_setting(finals: pd.DataFrame, over: Sequence[str], by: tuple[str, float] | None = None) -> Best | None:
    """By the rule above, of the runs of one method on one problem, the best values of the options ``over``; of settings
    that tie, the smaller in the first option in which they differ; ``by`` the score, or another metric and its sign.
    None where each diverged for some seed."""
    name, sign = by or score(finals)
    options = list(over)
    runs = finals[list(dict.fromkeys(["seed", "state", name, *options]))].dropna(subset=options)
    runs = runs.assign(setting=runs.groupby(options).ngroup())
    having = runs.groupby("seed")["setting"].nunique()
    seeds = sorted(having.index[having * 2 > runs["setting"].nunique()]) or sorted(having.index[having == having.max()])
    held = runs[runs["seed"].isin(seeds)]
    whole = held.groupby("setting")["seed"].nunique() == len(seeds)
    held = held[held["setting"].isin(whole.index[whole])]
    clean = runs.groupby("setting")["state"].agg(lambda states: (states == "done").all())
    means = held.groupby("setting")[name].agg(lambda values: values.astype(float).mean(skipna=False)).sort_index()
    means = means.where(clean.reindex(means.index) & np.isfinite(means), -sign * np.inf)
    if means.empty or not np.isfinite(means).any():
        return None
    table = runs.drop_duplicates("setting").set_index("setting").loc[means.index, options]
    (first,) = table.iloc[[int(np.argmax(sign * means.to_numpy()))]].to_dict("records")
    values = {str(o): value if isinstance(value, str) else float(value) for o, value in first.items()}
    words = [o for o, value in values.items() if isinstance(value, str)]  # of which every one may have its own grid
    grid = table[(table[words] == pd.Series(first)[words]).all(axis=1)].drop(columns=words)
    edges = [str(o) for o in grid if grid[o].nunique() > 1 and values[str(o)] in (grid[o].min(), grid[o].max())]
    return Best(values, edges, [int(seed) for seed in seeds], means.set_axis(pd.MultiIndex.from_frame(table)))


@dataclass(frozen=True)
class Robustness:
    """How much a method cares about one of its options, the others at their best, on one problem."""

    best: Best
    accuracy: float
    decades: float  # log10 of the widest range around the best with a mean within 0.5 points of its; NaN with a 0 in it
    lost_up: float  # points lost at ten times the best; NaN: off the grid; infinite: it diverged
    lost_down: float


def robustness(finals: pd.DataFrame, over: Sequence[str], option: str) -> Robustness | None:
    """From the runs of one tuned method on one problem with accuracies."""
    best = best_setting(finals, over)
    if best is None or score(finals)[0] != "test_accuracy":
        return None
    means = best.along(option)
    top = float(means[best.values[option]])
    good = (means >= top - WITHIN).to_numpy()
    low = high = int(np.flatnonzero(means.index == best.values[option])[0])
    while low > 0 and good[low - 1]:
        low -= 1
    while high < len(good) - 1 and good[high + 1]:
        high += 1
    least, most = float(means.index[low]), float(means.index[high])
    decades = float(np.log10(most / least)) if least > 0 else np.nan
    near = [at_multiple(best, option, factor) for factor in (10.0, 0.1)]
    lost = [top - float(means[value]) if value is not None else np.nan for value in near]
    return Robustness(best, top, decades, *lost)


def at_multiple(best: Best, option: str, factor: float) -> float | None:
    """The value of an option at this multiple of its best, where it was run with the others at theirs."""
    value = float(best.values[option])
    near = [other for other in best.along(option).index if value and np.isclose(other, value * factor, rtol=1e-6)]
    return float(near[0]) if near else None


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
