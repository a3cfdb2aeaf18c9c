"""The main findings of an experiment in a few sentences."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from analysis.drawing.symbols import in_symbols
from analysis.results.errors import NoData
from analysis.results.labels import methods, metric_in_words, name_of
from analysis.results.results import Results
from analysis.results.wording import listed, many
from analysis.study.compared import Compared, compared_at
from analysis.study.figure_options import USUAL, FigureOptions
from analysis.study.reported import best_of_all, chosen_of
from analysis.study.select import problems, reference
from analysis.study.settings import apart, in_order
from analysis.study.statistics import FEWEST, OWN, across, mean, ratio
from analysis.study.tuning import setting_of, some_diverged
from analysis.study.variants import shown_values

MOST = 3
"""The largest number of problems or methods that are named; more are only counted."""


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
    found = [one for where, runs in named if (one := compared_at(results, where, runs, request))]
    look = methods(finals["algo"].unique(), results)
    left_out, compared = _left_out(found, look), [one for one in found if one.rank.of_several]
    if not compared:
        return left_out
    against = reference(results, request)
    if len(compared) <= MOST:
        each = [_one(results, one, look, against) for one in compared] + left_out
        notes = dict.fromkeys(note for one in compared for note in shown_values(results, one.runs))
        each += [f"{note[0].upper()}{note[1:]}." for note in notes]
        return each if len(compared) == 1 else [_count(compared, look), *each]
    out, tested = [_count(compared, look)], [one for one in compared if len(one.order) > 1]
    few = sum(one.significant is None for one in tested)
    if 0 < few < len(tested):
        out.append(f"{few} of these problems have fewer than {FEWEST} seeds, too few to test significance.")
    out += left_out
    mine = [one for one in compared if against in (*one.order, *one.rank.diverged)]
    if against and mine:
        out.append(_reference(mine, against, look))
        out += _on_average(results, mine, against, look, request)
    return out


def _reference(compared: list[Compared], against: str, look: dict[str, str]) -> str:
    """Return on how many of its problems the reference is the best method, and its largest gap."""
    gaps = [_gap(one, against) for one in compared if against in one.order]
    losses = [gap for gap in gaps if gap > 0]
    percent = max(losses, default=0.0)
    times = float(f"{percent / 100 + 1:.3g}")
    size = f"{percent:.2g} % behind the best" if percent < 100 else f"with {times:,g} times the best loss"
    gone = f"; it diverged on {len(compared) - len(gaps)}" if len(gaps) < len(compared) else ""
    worst = f"; {'where it did not diverge, ' if gone else ''}at worst it ends {size}" if losses else ""
    well = f"on {len(gaps) - len(losses)} of its {many(len(compared), 'problem')}"
    return f"{look[against]} is the best method, or not significantly different from it, {well}{gone}{worst}."


def _left_out(found: list[Compared], look: dict[str, str]) -> list[str]:
    names = dict.fromkeys(look[algo] for one in found for algo in one.rank.left)
    why = "they have too few seeds in common with the others"
    return [f"Not compared where {why}: {', '.join(names)}."] if names else []


def _count(compared: list[Compared], look: dict[str, str]) -> str:
    """D-SGD reaches the lowest test loss on 9 of 52 problems, D-SGT on 7; no significant difference … on 36."""
    wins = Counter(one.winner for one in compared if one.winner)
    ties = [one for one in compared if one.order and not one.winner]
    gone = sum(not one.order for one in compared)
    of, parts = f" of {len(compared)} problems", list[str]()
    if wins:
        whats = {one.what for one in compared if one.order}
        verb = f"reaches the {whats.pop()}" if len(whats) == 1 else "is best"
        (first, count), *rest = wins.most_common()
        others = "".join(f", {look[algo]} on {times}" for algo, times in rest)
        parts.append(f"{look[first]} {verb} on {count}{of}{others}")
    if ties:
        pairs = {" and ".join(sorted(look[algo] for algo in one.order[:2])) for one in ties}
        names = "the two best methods" + (f", {pairs.pop()}," if len(pairs) == 1 else "")
        parts.append(
            f"{'no' if wins else 'No'} significant difference between {names} on {len(ties)}{'' if wins else of}"
        )
    tested = [one.significant for one in compared if len(one.order) > 1]
    if tested and not any(known is not None for known in tested):
        parts[-1] += f" (fewer than {FEWEST} seeds, significance not tested)"
    if gone:
        parts.append(f"{'all' if parts else 'All'} methods diverged on {gone}{'' if parts else of}")
    return "; ".join(parts) + "."


def _diverged(one: Compared, look: dict[str, str], against: str | None) -> str:
    """D-SGT, D-SGD and 4 more methods"""
    names = [look[algo] for algo in sorted(one.rank.diverged, key=lambda algo: algo != against)]
    more = [f"{len(names) - MOST + 1} more methods"] if len(names) > MOST else []
    return listed([*names[: MOST - len(more)], *more])


def _one(results: Results, one: Compared, look: dict[str, str], against: str | None) -> str:
    found, means, metric = one.rank.found, one.rank.means, one.rank.metric
    if not one.order:
        return f"All compared methods diverged on {one.where}: {_diverged(one, look, against)}."
    gone = f"; {_diverged(one, look, against)} diverged" if one.rank.diverged else ""
    first, second = one.order[0], one.order[1] if len(one.order) > 1 else one.order[0]
    rest = str(against if against in means.index and against != first else second)
    digits = next((d for d in (4, 5, 6, 7) if f"{means[first]:.{d}g}" != f"{means[rest]:.{d}g}"), 4)

    def name(algo: str) -> str:
        how = in_symbols(setting_of(chosen_of(found), algo))
        return f"{look[algo]} ({how})" if how else look[algo]

    def number(algo: str, spread: bool = False) -> str:
        value = mean(found[algo].values(metric))
        half = value.high - value.value
        if metric == "test_accuracy":
            return f"{value.value:.2f}{f' ± {half:.2f}' if spread and value.known else ''} %"
        return f"{value.value:.{digits}g}{f' ± {half:.2g}' if spread and value.known else ''}"

    ours, theirs = (set(found[algo].runs["seed"]) for algo in (first, second))
    seeds, known, several = len(ours & theirs), one.significant is not None, len(one.order) > 1
    count = many(seeds, "seed")
    if several and not known:
        count += ", too few to test significance" if seeds > 1 else ", which allows no statement about significance"
    more = f"; {name(rest)} ends at {number(rest)}" if several else ""
    if one.winner is None:
        more = more if rest != second else ""
        pair = f"{name(first)} at {number(first)} and {name(second)} at {number(second)}"
        what = f"{'significant ' * known}difference in {metric_in_words(metric, results)}"
        return f"No {what} on {one.where} between {pair} ({count}){more}{gone}."
    return f"{name(first)} reaches the {one.what} on {one.where}: {number(first, True)} ({count}){more}{gone}."


def _on_average(
    results: Results, compared: list[Compared], against: str, look: dict[str, str], request: FigureOptions
) -> list[str]:
    """Return the mean gap between the reference and the best other method for each metric, and what it leaves out."""
    gaps: dict[str, list[pd.Series]] = {}
    without: dict[str, list[str]] = {}  # the left-out problems, by what diverged on them
    for one in compared:
        if against in one.rank.diverged:
            without.setdefault(look[against], []).append(one.where)
            continue
        metric, mine = one.rank.metric, one.rank.found[against]
        rest = best_of_all(results, one.runs, request, but=(against,))
        if rest is None or rest.how == OWN:
            continue
        beside = rest.runs[rest.runs["seed"].isin(mine.runs["seed"])]
        if some_diverged(beside if len(rest.runs) else one.runs[one.runs["algo"] != against]):
            without.setdefault("the best other method", []).append(one.where)
            continue
        ours, theirs = mine.values(metric), rest.values(metric)
        both = ours.index.intersection(theirs.index)
        ours, theirs = ours[both], theirs[both]
        if metric != "test_accuracy":
            ours, theirs = (np.log(values.where(values > 0)) for values in (ours, theirs))
        gap = ours - theirs
        if len(gap):
            gaps.setdefault(metric, []).append(gap)
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
    if out and without:
        named = {who: f" ({'; '.join(some)})" if len(some) <= MOST else "" for who, some in without.items()}
        parts = [f"{many(len(without[who]), 'problem')} on which {who} diverged{some}" for who, some in named.items()]
        out.append(f"{'This average leaves' if len(out) == 1 else 'These averages leave'} out {listed(parts)}.")
    return out


def _gap(one: Compared, against: str | None) -> float:
    """Return the gap of the reference to the best method, in percent; 0 if it is not significant."""
    first, means = one.order[0], one.rank.means
    if against == first or one.apart(first, str(against)) is False:
        return 0.0
    return float(abs(means[against] - means.iloc[0]) / max(abs(means.iloc[0]), np.finfo(float).tiny) * 100)
