"""What came out, in a sentence or two."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.drawing.style import metric_in_words, name_of, styles
from analysis.drawing.symbols import in_symbols
from analysis.results.errors import NoData
from analysis.results.results import Results
from analysis.study.ask import USUAL, Ask
from analysis.study.reported import best_of_all, chosen_of, means_of, reported_all
from analysis.study.select import as_written, problems, reference
from analysis.study.settings import apart, in_order
from analysis.study.statistics import OWN, Interval, Reported, across, ratio, told_apart
from analysis.study.tuning import judged_by, setting_of

MOST = 3
"""Settings that have a sentence each; more are counted."""


@dataclass(frozen=True)
class Compared:
    """The methods of one setting by the seeds that report them, and what these say of the first two."""

    where: str
    metric: str
    most: bool  # whether more of the metric is better
    found: dict[str, Reported]
    means: pd.Series  # the best first
    runs: pd.DataFrame  # all of them, as written

    def apart(self, one: str, other: str) -> bool | None:
        """Whether two methods are told apart by their seeds, among all that are compared; None where these are few."""
        ours, theirs = (self.found[algo].values(self.metric) for algo in (one, other))
        return told_apart(ours, theirs, family=len(self.means) - 1)

    @property
    def winner(self) -> str | None:
        """The first, unless its seeds do not tell it apart from the second."""
        first, second = map(str, self.means.index[:2])
        return None if self.apart(first, second) is False or self.means[first] == self.means[second] else first


def outcome(results: Results, ask: Ask = USUAL) -> list[str]:
    """Which method ends best where, and how far the reference is from it; nothing where there is nothing to compare."""
    try:
        finals = results.finals
    except NoData:
        return []
    settings = in_order(problems(results, finals))
    ends, _ = apart(settings).side_by_side([key for key, _ in settings], also=("nodes", "steps"))
    told = [
        (f"{name_of(key['dataset'])}, {key['topology']}{end}", runs)
        for (key, runs), end in zip(settings, ends, strict=True)
    ]
    compared = [one for where, runs in told if (one := _compared(results, where, runs, ask))]
    if not compared:
        return []
    against = reference(results, ask)
    look = {algo: style.label for algo, style in styles(finals["algo"].unique(), results).items()}
    if len(compared) <= MOST:
        return [_one(results, one, look, against) for one in compared]
    wins = Counter(one.winner for one in compared)
    counted = [f"{look[algo]} on {count}" for algo, count in wins.most_common() if algo]
    counted += [f"none that is told apart from the next on {wins[None]}"] if wins[None] else []
    few = sum(one.apart(*map(str, one.means.index[:2])) is None for one in compared)
    rest = f" ({few} of these from too few seeds to tell)" if few else ""
    out = [f"Which method ends best, on {len(compared)} settings with two methods or more: {', '.join(counted)}{rest}."]
    gaps = [_gap(one, against) for one in compared if against in one.means.index]
    if against and gaps:
        losses = [gap for gap in gaps if gap > 0]
        worst = f"; at its worst it ends {_in_words(max(losses))}" if losses else ""
        well = f"the best of all, or not told apart from it, on {len(gaps) - len(losses)} of its {len(gaps)} settings"
        out.append(f"{look[against]} is {well}{worst}.")
        out += _on_average(results, compared, against, look, ask)
    return out


def _compared(results: Results, where: str, runs: pd.DataFrame, ask: Ask) -> Compared | None:
    runs = as_written(results, runs, ask)[0]
    metric, sign = judged_by(results, runs, ask)
    found = reported_all(results, runs, ask)
    means = means_of(found, metric, sign)
    return Compared(where, metric, sign > 0, found, means, runs) if len(means) > 1 else None


def _one(results: Results, one: Compared, look: dict[str, str], against: str | None) -> str:
    means = one.means
    first, second = map(str, means.index[:2])
    rest = str(against if against in means.index and against != first else second)
    digits = next((d for d in (4, 5, 6, 7) if f"{means[first]:.{d}g}" != f"{means[rest]:.{d}g}"), 4)

    def told(algo: str) -> str:
        how = in_symbols(setting_of(chosen_of(one.found), algo)) or "without a stepsize"
        number = f"{means[algo]:.2f} %" if one.metric == "test_accuracy" else f"{means[algo]:.{digits}g}"
        return f"{look[algo]} ({how}) at {number}"

    what = f"{'highest' if one.most else 'lowest'} {metric_in_words(one.metric, results)}"
    if one.winner is None:
        more = f"; {told(rest)}" if rest != second else ""
        return f"On {one.where}, the {what} is no one's: seeds do not tell {told(first)} from {told(second)}{more}."
    few = one.found[first].runs["seed"].nunique() if one.apart(first, second) is None else 0
    seeds = f", from {few} seed{'s' * (few != 1)}" if few else ""
    return f"On {one.where}, {told(first)} ends with the {what}{seeds}; {told(rest)}."


def _on_average(results: Results, compared: list[Compared], against: str, look: dict[str, str], ask: Ask) -> list[str]:
    """How far the reference ends from the best other method, over settings that are judged by one metric."""
    gaps: dict[str, list[pd.Series]] = {}
    for one in compared:
        rest = best_of_all(results, one.runs, ask, but=(against,))
        if against not in one.means.index or rest is None or rest.how == OWN:
            continue
        ours, theirs = one.found[against].values(one.metric), rest.values(one.metric)
        points = one.metric == "test_accuracy"
        both = ours.index.intersection(theirs.index)
        ours, theirs = ours[both], theirs[both]
        gap = ours - theirs if points else np.log(ours.where(ours > 0)) - np.log(theirs.where(theirs > 0))
        if len(gap):
            gaps.setdefault(one.metric, []).append(gap)
    out = []
    for metric, each in gaps.items():
        found = across(each)
        if not found.known:
            continue
        told = _signed(found, "points") if metric == "test_accuracy" else _signed(ratio(found), "times")
        what = metric_in_words(metric, results)
        out.append(
            f"On average over {found.count} settings, {look[against]} ends {told} the {what} of the best other method, "
            "which other seeds have chosen with its setting (95 % interval for settings like these)."
        )
    return out


def _signed(found: Interval, unit: str) -> str:
    if unit == "times":
        return f"at {found.value:.3g} [{found.low:.3g}, {found.high:.3g}] times"
    return f"{found.value:+.2f} [{found.low:+.2f}, {found.high:+.2f}] points from"


def _in_words(percent: float) -> str:
    """A loss that is many times the best one is no percentage."""
    return f"{percent:.2g} % behind the best" if percent < 100 else f"at {percent / 100 + 1:.3g} times the best loss"


def _gap(one: Compared, against: str | None) -> float:
    """How far the reference ends behind the best, in percent of it; 0 where seeds do not tell them apart."""
    first, means = str(one.means.index[0]), one.means
    if against == first or one.apart(first, str(against)) is False:
        return 0.0
    return float(abs(means[against] - means.iloc[0]) / max(abs(means.iloc[0]), np.finfo(float).tiny) * 100)
