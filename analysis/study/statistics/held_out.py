"""The number of a tuned method, from seeds that had no part in choosing its setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.results.wording import ranges
from analysis.study.statistics.best import Best, Grid
from analysis.study.statistics.intervals import FEWEST

FRESH, CROSSED, OWN = "not used for the choice", "cross-fitted", "chose its setting itself"
ALONE, UNTUNED, GONE = "the only setting run", "untuned", "every setting diverged for some seed"
HELD_OUT = (
    f"the number of a tuned method is from seeds that did not choose its setting: {FEWEST} or more further seeds of "
    f"the chosen one ({FRESH}), else every seed at the setting that the others choose ({CROSSED}); a single seed has "
    "but its own choice, and no interval"
)


@dataclass(frozen=True)
class Reported:
    """One method on one problem."""

    best: Best | None  # what all tuning seeds choose; None where there was nothing to choose, or nothing was left
    runs: pd.DataFrame  # a row per seed
    how: str  # one of the above
    others: tuple[int, ...] = ()  # seeds at which, cross-fitted, another setting than the best was chosen

    @property
    def tuned(self) -> bool:
        """Whether it has options that a setting may be chosen of."""
        return self.how != UNTUNED

    def values(self, metric: str) -> pd.Series:
        """By seed; NaN where the run diverged."""
        return self.runs.set_index("seed")[metric].astype(float).where((self.runs["state"] == "done").to_numpy())

    @property
    def in_words(self) -> str:
        """0–4 (cross-fitted; another setting at 3)"""
        how = [] if self.how in (UNTUNED, ALONE) else [self.how]
        how += [f"another setting at {ranges(self.others)}"] if self.others else []
        return f"{ranges(self.runs['seed'])} ({'; '.join(how)})" if how else ranges(self.runs["seed"])


def report(finals: pd.DataFrame, over: Sequence[str], by: tuple[str, float] | None = None) -> Reported:
    """Of the runs of one method on one problem, those to report; its setting is chosen ``by`` a metric and its sign."""
    grid = Grid(finals, over, by)
    best = grid.best
    if best is None:
        return Reported(None, grid.runs.iloc[:0], GONE)
    mine = best.of(grid.runs)
    if best.alone:
        return Reported(best, mine, ALONE)
    if grid.apart:
        return Reported(best, mine[~mine["seed"].isin(best.seeds)], FRESH)
    crossed = grid.runs.iloc[[grid.places[k, j] for j, k in enumerate(grid.by_the_others)]]
    others = tuple(sorted(int(seed) for seed in crossed.loc[~crossed.index.isin(mine.index), "seed"]))
    return Reported(best, crossed, CROSSED if len(best.seeds) > 1 else OWN, others)
