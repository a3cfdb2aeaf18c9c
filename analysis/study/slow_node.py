"""Runs with a slow node: the problem that was run with most factors of its compute time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.results.results import Results
from analysis.study.families import splits
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, first, problems, refuse_unless
from analysis.study.settings import apart
from analysis.study.tuning import Chosen, at_best, rule_in_words

SLOW, CONTENT, SPLIT = "network.slow", "network.content", "split in words"
"""Columns of the factor, of a digest that depends on it, and of the partition; blanks avoid clashes with options."""
CLOCK = (
    "seconds on the network of each run: of synchronous methods until all nodes have completed the step, of "
    "asynchronous ones the time of the events"
)


def most_factors(
    results: Results, but: tuple[str, ...] = (), needs: tuple[str, ...] = ()
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the problem with most runs of methods with two factors of the slow node or more.

    Args:
        results: The runs.
        but: Labels that may differ within the problem, besides the factor.
        needs: Metrics that the runs must have.
    """
    finals, sentence = results.finals, "no method was run with two values of network.slow or more"
    missing = [name for name in needs if name not in finals]
    refuse_unless(not missing, f"no run has the metric '{missing[0] if missing else ''}'")
    refuse_unless(SLOW in finals, sentence)
    settings = []
    for key, runs in problems(results, finals.dropna(subset=[SLOW, *needs]), but=(SLOW, CONTENT, *but)):
        spans = runs.groupby("algo")[SLOW].transform("nunique")
        if (spans >= 2).any():
            settings.append((key, runs[spans >= 2]))
    refuse_unless(bool(settings), sentence)
    key, runs = first(settings, apart(settings))
    edited = CONTENT in runs and (runs.groupby(SLOW)[CONTENT].nunique() > 1).any()
    refuse_unless(not edited, "the network file was edited between these runs; skip the older ones with --without")
    return key, runs.assign(**{SPLIT: splits(runs)})


@dataclass(frozen=True)
class Factor:
    """The runs of every method at its best setting for one partition and factor of the slow node."""

    split: str
    slow: float
    best: pd.DataFrame
    chosen: Chosen
    notes: list[str]

    @property
    def where(self) -> str:
        return f"{self.split}, slow factor {self.slow:g}"


def by_factor(results: Results, found: pd.DataFrame, request: FigureOptions) -> Iterator[Factor]:
    """Yield the partitions and factors, with notes on the settings and on the runs that are left out."""
    for split in dict.fromkeys(found[SPLIT]):
        for slow in sorted(found[SLOW].unique()):
            runs, omitted = as_written(results, found[(found[SPLIT] == split) & (found[SLOW] == slow)], request)
            one = Factor(split, float(slow), *at_best(results, runs, request), [])
            one.notes.extend(f"{one.where}: {note}" for note in omitted)
            one.notes.extend(rule_in_words(results, one.best, one.chosen, f"{one.where}: ", request))
            yield one
