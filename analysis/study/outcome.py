"""The main findings of an experiment in a few sentences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from analysis.drawing.symbols import in_symbols
from analysis.results.errors import NoData
from analysis.results.labels import methods, metric_in_words, name_of
from analysis.results.results import Results
from analysis.results.wording import many
from analysis.study.figure_options import USUAL, FigureOptions
from analysis.study.reported import best_of_all, chosen_of, means_of, on_common_seeds, reported_all
from analysis.study.select import as_written, problems, reference
from analysis.study.settings import apart, in_order
from analysis.study.statistics import FEWEST, OWN, Reported, across, mean, ratio, significantly_different
from analysis.study.tuning import judged_by, setting_of
from analysis.study.variants import shown_values

MOST = 3
"""The largest number of problems with a sentence each; more are only counted."""


@dataclass(frozen=True)
class Compared:
    """The methods of one problem, on their common reporting seeds."""

    where: str
    metric: str
    what: str  # such as "lowest test loss"
    found: dict[str, Reported]
    means: pd.Series  # the best first
    runs: pd.DataFrame  # all runs of the methods as written
    left: list[str]  # methods with too few common seeds

    def apart(self, one: str, other: str) -> bool | None:
        """Return whether two methods differ significantly, among all compared ones; None with too few seeds."""
        ours, theirs = (self.found[algo].values(self.metric) for algo in (one, other))
        return significantly_different(ours, theirs, family=len(self.means) - 1)

    @property
    def two(self) -> tuple[str, str]:
        """The best two methods."""
        first, second = map(str, self.means.index[:2])
        return first, second

    @cached_property
    def significant(self) -> bool | None:
        """Whether the best two methods differ significantly; None with too few seeds."""
        return self.apart(*self.two)

    @property
    def winner(self) -> str | None:
        """The best method, unless it does not differ significantly from the second."""
        first, second = self.two
        return None if self.significant is False or self.means[first] == self.means[second] else first


def outcome(results: Results, request: FigureOptions = USUAL) -> list[str]:
    """Return sentences on the best method of each problem and the gap of the reference; none without a comparison."""
    try:
        finals = results.finals
    except NoData:
        return []
    settings = in_order(problems(results, finals))
    ends, _ = apart(settings).side_by_side([key for key, _ in settings], also=("nodes", "steps"))
    named = [
        (f"{name_of(key['dataset'])}, {key['topology']}{end}", runs)
        for (key, runs), end in zip(settings, ends, strict=True)
    ]
    found = [one for where, runs in named if (one := _compared(results, where, runs, request))]
    look = methods(finals["algo"].unique(), results)
    left_out, compared = _left_out(found, look), [one for one in found if len(one.means) > 1]
    if not compared:
        return left_out
    against = reference(results, request)
    if len(compared) <= MOST:
        each = [_one(results, one, look, against) for one in compared] + left_out
        notes = dict.fromkeys(note for one in compared for note in shown_values(results, one.runs))
        each += [f"{note[0].upper()}{note[1:]}." for note in notes]
        return each if len(compared) == 1 else [_count(compared, look), *each]
    out, few = [_count(compared, look)], sum(one.significant is None for one in compared)
    if 0 < few < len(compared):
        out.append(f"{few} of these problems have fewer than {FEWEST} seeds, too few to test significance.")
    out += left_out
    gaps = [_gap(one, against) for one in compared if against in one.means.index]
    if against and gaps:
        losses = [gap for gap in gaps if gap > 0]
        percent = max(losses, default=0.0)
        times = float(f"{percent / 100 + 1:.3g}")
        size = f"{percent:.2g} % behind the best" if percent < 100 else f"with {times:,g} times the best loss"
        worst = f"; at worst it ends {size}" if losses else ""
        well = f"on {len(gaps) - len(losses)} of its {len(gaps)} problems"
        out.append(f"{look[against]} is the best method, or not significantly different from it, {well}{worst}.")
        out += _on_average(results, compared, against, look, request)
    return out


def _left_out(found: list[Compared], look: dict[str, str]) -> list[str]:
    names = dict.fromkeys(look[algo] for one in found for algo in one.left)
    why = "they have too few seeds in common with the others"
    return [f"Not compared where {why}: {', '.join(names)}."] if names else []


def _count(compared: list[Compared], look: dict[str, str]) -> str:
    """D-SGD reaches the lowest test loss on 9 of 52 problems, D-SGT on 7; no significant difference … on 36."""
    wins = Counter(one.winner for one in compared if one.winner)
    ties = [one for one in compared if not one.winner]
    of, parts = f" of {len(compared)} problems", list[str]()
    if wins:
        whats = {one.what for one in compared}
        verb = f"reaches the {whats.pop()}" if len(whats) == 1 else "is best"
        (first, count), *rest = wins.most_common()
        others = "".join(f", {look[algo]} on {times}" for algo, times in rest)
        parts.append(f"{look[first]} {verb} on {count}{of}{others}")
    if ties:
        pairs = {" and ".join(sorted(look[algo] for algo in one.two)) for one in ties}
        names = "the two best methods" + (f", {pairs.pop()}," if len(pairs) == 1 else "")
        parts.append(
            f"{'no' if wins else 'No'} significant difference between {names} on {len(ties)}{'' if wins else of}"
        )
    untested = all(one.significant is None for one in compared)
    return "; ".join(parts) + f" (fewer than {FEWEST} seeds, significance not tested)" * untested + "."


def _compared(results: Results, where: str, runs: pd.DataFrame, request: FigureOptions) -> Compared | None:
    runs = as_written(results, runs, request)[0]
    metric, sign = judged_by(results, runs, request)
    if metric not in runs:
        return None
    everything = reported_all(results, runs, request)
    found = on_common_seeds(everything)
    means = means_of(found, metric, sign)
    left = [algo for algo, one in everything.items() if len(one.runs) and algo not in found]
    what = f"{'highest' if sign > 0 else 'lowest'} {metric_in_words(metric, results)}"
    return Compared(where, metric, what, found, means, runs, left)


def _one(results: Results, one: Compared, look: dict[str, str], against: str | None) -> str:
    means = one.means
    first, second = one.two
    rest = str(against if against in means.index and against != first else second)
    digits = next((d for d in (4, 5, 6, 7) if f"{means[first]:.{d}g}" != f"{means[rest]:.{d}g}"), 4)

    def name(algo: str) -> str:
        how = in_symbols(setting_of(chosen_of(one.found), algo))
        return f"{look[algo]} ({how})" if how else look[algo]

    def number(algo: str, spread: bool = False) -> str:
        found = mean(one.found[algo].values(one.metric))
        half = found.high - found.value
        if one.metric == "test_accuracy":
            return f"{found.value:.2f}{f' ± {half:.2f}' if spread and found.known else ''} %"
        return f"{found.value:.{digits}g}{f' ± {half:.2g}' if spread and found.known else ''}"

    ours, theirs = (set(one.found[algo].runs["seed"]) for algo in one.two)
    seeds, known = len(ours & theirs), one.significant is not None
    count = many(seeds, "seed")
    if not known:
        count += ", too few to test significance" if seeds > 1 else ", which allows no statement about significance"
    more = f"; {name(rest)} ends at {number(rest)}"
    if one.winner is None:
        more = more if rest != second else ""
        pair = f"{name(first)} at {number(first)} and {name(second)} at {number(second)}"
        what = f"{'significant ' * known}difference in {metric_in_words(one.metric, results)}"
        return f"No {what} on {one.where} between {pair} ({count}){more}."
    return f"{name(first)} reaches the {one.what} on {one.where}: {number(first, True)} ({count}){more}."


def _on_average(
    results: Results, compared: list[Compared], against: str, look: dict[str, str], request: FigureOptions
) -> list[str]:
    """Return the mean gap between the reference and the best other method, for each metric."""
    gaps: dict[str, list[pd.Series]] = {}
    for one in compared:
        rest = best_of_all(results, one.runs, request, but=(against,))
        if against not in one.means.index or rest is None or rest.how == OWN:
            continue
        ours, theirs = one.found[against].values(one.metric), rest.values(one.metric)
        both = ours.index.intersection(theirs.index)
        ours, theirs = ours[both], theirs[both]
        if one.metric != "test_accuracy":
            ours, theirs = (np.log(values.where(values > 0)) for values in (ours, theirs))
        gap = ours - theirs
        if len(gap):
            gaps.setdefault(one.metric, []).append(gap)
    out = []
    for metric, each in gaps.items():
        found = across(each)
        if not found.known:
            continue
        if metric == "test_accuracy":
            size = f"{abs(found.value):.2f} points {'above' if found.value >= 0 else 'below'}"
            limits = f"{found.low:+.2f} to {found.high:+.2f}"
        else:
            found = ratio(found)
            size, limits = f"{found.value:.3g} times", f"{found.low:.3g} to {found.high:.3g}"
        out.append(
            f"On average over {found.count} problems, the {metric_in_words(metric, results)} of {look[against]} is "
            f"{size} (95 % interval {limits}) that of the best other method, which was chosen with its setting on "
            "other seeds."
        )
    return out


def _gap(one: Compared, against: str | None) -> float:
    """Return the gap of the reference to the best method, in percent; 0 if it is not significant."""
    first, means = str(one.means.index[0]), one.means
    if against == first or one.apart(first, str(against)) is False:
        return 0.0
    return float(abs(means[against] - means.iloc[0]) / max(abs(means.iloc[0]), np.finfo(float).tiny) * 100)
