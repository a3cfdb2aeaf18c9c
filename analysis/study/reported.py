"""Results of all methods of a problem, or of the best one, by seeds that did not choose them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pandas as pd

from analysis.results.results import Results
from analysis.study.figure_options import USUAL, FigureOptions
from analysis.study.statistics import FEWEST, SEVERAL, UNTUNED, Reported, numbered, report
from analysis.study.tuning import Chosen, criterion, judged_by, some_diverged, tuned_over


def reported_all(results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL) -> dict[str, Reported]:
    """Return what to report of every method of one problem."""
    by = criterion(results, finals, request)
    return {str(algo): reported_one(results, runs, by) for algo, runs in finals.groupby("algo", sort=False)}


def reported_one(results: Results, runs: pd.DataFrame, by: tuple[str, float]) -> Reported:
    """Return what to report of one method on one problem; ``by`` as ``criterion`` returns it for all methods."""
    if over := tuned_over(results, runs):
        return report(runs, over, by)
    if runs["seed"].duplicated().any():
        raise ValueError(SEVERAL)
    return Reported(None, runs, UNTUNED)


def best_of_all(
    results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL, but: Iterable[str] = ()
) -> Reported | None:
    """Return the best method of one problem at its best setting, both chosen on other seeds than the reported ones.

    Methods in ``but`` are excluded; None if no method remains. ``best.values`` includes the method as ``algo``.
    """
    parts = []
    overs: dict[str, list[str]] = {}
    for algo, runs in finals[~finals["algo"].isin(list(but))].groupby("algo", sort=False):
        over = overs[str(algo)] = tuned_over(results, runs)
        mine = runs[runs[over].notna().to_numpy().all(axis=1)]
        parts.append(pd.Series(numbered(mine, over) if over else 0, mine.index, dtype=float))
    if not parts:
        return None
    setting = pd.concat(parts)
    table = finals.loc[setting.index].assign(setting=setting)
    found = report(table, ["algo", "setting"], criterion(results, finals, request))
    if found.best is None:
        return found
    algo = str(found.best.values["algo"])
    (values,) = found.best.of(table)[["algo", *overs[algo]]].head(1).to_dict("records")
    return replace(found, best=replace(found.best, values=values, edges=[]))


def on_common_seeds(found: dict[str, Reported]) -> dict[str, Reported]:
    """Return the methods on the seeds that all of them have, if these are at least five.

    Otherwise, return them on the seeds that most of them have, without the methods that lack such a seed. Means over
    different seeds are not comparable: a seed is also a dataset or a graph.
    """
    ran = {algo: set(one.runs["seed"]) for algo, one in found.items() if len(one.runs)}
    counts = Counter(seed for seeds in ran.values() for seed in seeds)
    common = {seed for seed, count in counts.items() if count == len(ran)}
    if len(common) < FEWEST:
        common = {seed for seed, count in counts.items() if count * 2 > len(ran)}
    kept = {algo: found[algo] for algo, seeds in ran.items() if common and common <= seeds}
    return {algo: replace(one, runs=one.runs[one.runs["seed"].isin(common)]) for algo, one in kept.items()}


@dataclass(frozen=True)
class Ranking:
    """The methods of one problem, on their common reporting seeds."""

    metric: str
    sign: float
    found: dict[str, Reported]  # the methods on their common seeds
    means: pd.Series  # the best first; without the methods that diverged
    diverged: list[str]  # at a compared seed, or at every setting
    left: list[str]  # methods with too few common seeds

    @property
    def of_several(self) -> bool:
        """Whether two or more methods are compared, those that diverged among them."""
        return len(self.means) + len(self.diverged) > 1


def ranking(results: Results, runs: pd.DataFrame, request: FigureOptions = USUAL) -> Ranking | None:
    """Rank the methods of one problem by the metric that compares them; None if there is no such metric."""
    metric, sign = judged_by(results, runs, request)
    if metric not in runs:
        return None
    everything = reported_all(results, runs, request)
    found = on_common_seeds(everything)
    means = pd.Series({algo: one.values(metric).mean(skipna=False) for algo, one in found.items()}, dtype=float)
    means = means.dropna().sort_index().sort_values(ascending=sign < 0, kind="stable")
    left = [algo for algo, one in everything.items() if len(one.runs) and algo not in found]
    reporting = {algo: found[algo].runs if algo in found else runs[runs["algo"] == algo] for algo in everything}
    diverged = [algo for algo, some in reporting.items() if algo not in left and some_diverged(some)]
    return Ranking(metric, sign, found, means, diverged, left)


def chosen_of(found: dict[str, Reported]) -> Chosen:
    """Return the best settings of the tuned methods."""
    return {algo: one.best for algo, one in found.items() if one.tuned}
