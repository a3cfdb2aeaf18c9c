"""A sensible picture of any sweep whatsoever."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd

from analysis.drawing.lines import curve
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import METRICS, Style, metric_name, name_of, styles, variant
from analysis.drawing.symbols import with_values
from analysis.figures import figure
from analysis.results.results import Results
from analysis.study.ask import Ask
from analysis.study.select import as_written, counted, metrics, problems
from analysis.study.settings import apart
from analysis.study.tuning import (
    at_best,
    columns_of,
    judged_by,
    numbers_tuned,
    rule_in_words,
    setting_of,
    what_was_tuned,
)

MOST, MOST_LINES = 4, 16
FROM_THE_FIRST_STEP = ("test_accuracy", "consensus")
"""Where the start would flatten what follows, or is 0 because all nodes start together."""
AFTER = ["accuracies and consensus errors are drawn from the first evaluation after the start"]
SELDOM = "runs of {} steps were evaluated at their start and end alone: a smaller eval_every makes curves"


@figure(
    "compare",
    "Everything side by side",
    "python bench/run.py -m algo=dnasa,dsgt topology=ring,complete",
    uses=("x", "metric", "tune_by"),
)
def draw(results: Results, ask: Ask) -> Picture:
    finals, notes = counted(results.finals, ask.x or "step")
    everything = list(problems(results, finals))
    among = apart(everything)
    settings = sorted(everything, key=lambda item: (-len(item[1]), among.place(item[0])))[:MOST]
    notes += [f"the {MOST} settings with most runs, of {len(everything)}"] if len(everything) > MOST else []
    ends, said = among.side_by_side([key for key, _ in settings], also=("nodes", "steps"))
    notes += [*said, *AFTER]
    look = styles(set().union(*(set(runs["algo"]) for _, runs in settings)), results)
    shared = len({key["dataset"] for key, _ in settings}) == 1
    usual = [(judged_by(results, runs, ask)[0], "grad_norm", "consensus") for _, runs in settings]
    names = [metrics(results, ask.metrics, some) for some in usual]
    share: Any = {"sharey": "row" if shared else False, "sharex": "col"}
    figure, axes = panels(len(names[0]), len(settings), 1.4, look=look, **share)
    entries: dict[str, tuple[Style, list[dict[str, float | str]]]] = {}
    forms: dict[str, list[str]] = defaultdict(list)  # of a method; the first has its usual look
    drawn, used, rules = [], set(), list[str]()
    told_of: dict[str, list[str]] = defaultdict(list)  # by panel: the settings that were chosen
    if sum(len(_variants(results, mine)) for _, runs in settings for _, mine in runs.groupby("algo")) > MOST_LINES:
        notes.append("methods as written: with all their variants there would be too many lines")
        settings = [(key, as_written(results, runs, ask)[0]) for key, runs in settings]
    for column, (key, runs) in enumerate(settings):
        title = f"{name_of(key['dataset'])}, {key['topology']}{ends[column]}"
        rows = results.curves(runs)
        notes += [SELDOM.format(key["steps"])] if rows["step"].nunique() <= 2 else []
        x = ask.x if ask.x and rows[ask.x].notna().any() else "step"  # on a stream there are no epochs
        cells = [
            (ax, name, log_scale(ax, rows[name], name)) for ax, name in zip(axes[:, column], names[column], strict=True)
        ]
        for algo in (name for name in look if name in set(runs["algo"])):
            for label, some in _variants(results, runs[runs["algo"] == algo]):
                name = look[algo].label
                forms[algo] += [label] if label not in forms[algo] else []
                best, chosen = at_best(results, some, ask)
                tuned = {name: choice for name, choice in chosen.items() if choice is None or not choice.alone}
                if best.empty:
                    best, tuned = some, {}
                    what = what_was_tuned(chosen)
                    told_of[title].append(f"{name}{label} has no {what} at which every run was done; all are drawn")
                for words, rule in zip(*[iter(rule_in_words(results, some, tuned, ask=ask))] * 2, strict=True):
                    told_of[title].append(words.replace(name, f"{name}{label}", 1))
                    rules.append(rule)
                style = variant(look[algo], forms[algo].index(label))
                entries.setdefault(f"{style.label}{label}", (style, []))[1].append(setting_of(chosen, algo))
                mine = results.curves(best)
                for ax, metric, log in cells:
                    table = curve(ax, mine, x, metric, style, 0 if metric in FROM_THE_FIRST_STEP else -1, log, results)
                    told = {"variant": label.removeprefix(", "), **columns_of(chosen, algo), **key}
                    drawn.append(table.assign(algo=algo, **told))
                used |= set(some["run_id"])
        for ax, metric, log in cells:
            ax.set_ylabel(metric_name(metric, results) if column == 0 or not shared else "")
            if log and not (rows[metric] > 0).any():
                ax.text(0.5, 0.5, "0 at every step", ha="center", va="center", transform=ax.transAxes)
                ax.set_yticks([])
        axes[-1, column].set_xlabel(METRICS[x])
        letter_panel(axes[0, column], title)
    legend(
        figure,
        [legend_entry(style, with_values(label, values, each=True)) for label, (style, values) in entries.items()],
    )
    notes += [*_gathered(told_of), *rules]
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, list(dict.fromkeys(notes)))


def _gathered(told_of: dict[str, list[str]]) -> list[str]:
    """What is said of each panel in one note; of panels of which the same is said, in one for all."""
    panels_of: dict[str, list[str]] = defaultdict(list)
    for title, words in told_of.items():
        panels_of["; ".join(words)].append(title)
    return [f"{' and '.join(titles)}: {words}" for words, titles in panels_of.items()]


def _variants(results: Results, runs: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """One method's runs by the options that it was not tuned over; an empty label where they do not differ."""
    tuned = numbers_tuned(results, runs)
    differ = [c for c in results.options if c not in tuned and c in runs and runs[c].nunique(dropna=False) > 1]
    if not differ:
        return [("", runs)]
    groups = runs.groupby(differ, dropna=False, sort=False)
    return [
        ("".join(f", {c}={_short(v)}" for c, v in zip(differ, values, strict=True) if pd.notna(v)), some)
        for values, some in groups
    ]


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
