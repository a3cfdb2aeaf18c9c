"""The methods of one problem, the best first, and whether they differ significantly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from analysis.results.labels import metric_in_words
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.reported import Ranking, ranking
from analysis.study.select import as_written
from analysis.study.statistics import significantly_different


@dataclass(frozen=True)
class Compared:
    """The methods of one problem, and where they are compared."""

    where: str
    what: str  # such as "lowest test loss"
    rank: Ranking
    runs: pd.DataFrame  # all runs of the methods as written

    def apart(self, one: str, other: str) -> bool | None:
        """Return whether two methods differ significantly, among all compared ones; None with too few seeds."""
        ours, theirs = (self.rank.found[algo].values(self.rank.metric) for algo in (one, other))
        return significantly_different(ours, theirs, family=len(self.rank.means) - 1)

    @property
    def order(self) -> list[str]:
        """The methods that did not diverge, the best first."""
        return [str(algo) for algo in self.rank.means.index]

    @cached_property
    def significant(self) -> bool | None:
        """Whether the best two methods differ significantly; None with too few seeds, or without two methods."""
        return self.apart(*self.order[:2]) if len(self.order) > 1 else None

    @property
    def winner(self) -> str | None:
        """The best method, unless it does not differ significantly from the second; the only one if others diverged."""
        first, second = [*self.order, None, None][:2]
        if first is None or second is None:
            return first
        means = self.rank.means
        return None if self.significant is False or means[first] == means[second] else first


def compared_at(results: Results, where: str, runs: pd.DataFrame, request: FigureOptions) -> Compared | None:
    runs = as_written(results, runs, request)[0]
    if (rank := ranking(results, runs, request)) is None:
        return None
    what = f"{'highest' if rank.sign > 0 else 'lowest'} {metric_in_words(rank.metric, results)}"
    return Compared(where, what, rank, runs)
