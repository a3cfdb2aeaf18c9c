"""Figure 3: how much the stepsize matters, on every dataset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.drawing.lines import draw_against_setting, draw_without_setting
from analysis.drawing.panels import (
    PUBLISHED,
    Picture,
    gone_in_words,
    legend,
    legend_entry,
    letter_panel,
    log_scale,
    panels,
    under,
)
from analysis.drawing.style import method_name, metric_name, name_of, styles, variant
from analysis.drawing.symbols import in_symbols, symbol, what_is_tuned, with_values
from analysis.figures import figure
from analysis.results.results import Results
from analysis.study import published
from analysis.study.ask import Ask
from analysis.study.select import as_written, metrics, one_per_dataset, refuse_unless, with_accuracies
from analysis.study.statistics import best_setting, score
from analysis.study.tuning import criterion, score_in_words, sensitive_to, tuned_over

Setting = tuple[dict[str, Any], pd.DataFrame]


@figure(
    "stepsize",
    "Final results against the stepsize",
    "python bench/run.py experiment=paper/stepsize_a9a",
    uses=("over", "metric", "tune_by"),
)
def draw(results: Results, ask: Ask) -> Picture:
    finals = grids(results, results.finals, ask.over)
    finals, said = with_accuracies(finals) if not ask.metrics else (finals, [])
    settings, notes = one_per_dataset(results, finals)
    notes += said
    columns = min(3, len(settings))
    look = styles(set().union(*(set(runs["algo"]) for _, runs in settings)), results)
    rows = -(-len(settings) // columns)
    figure, axes = panels(rows, columns, 1.9, look=look, sharex="col")
    return fill(
        results, ask, figure, axes, settings, notes, lambda key: f"{name_of(key['dataset'])}, {key['topology']} graph"
    )


def grids(results: Results, finals: pd.DataFrame, option: str) -> pd.DataFrame:
    """The runs of problems on which some method was run with several values of an option, and those without one."""
    one, several_of_it = (
        ("a stepsize", "stepsizes") if option == "eta" else (f"an option {option}", f"values of {option}")
    )
    refuse_unless(option in finals, f"no method was run with {one}")
    keys = [c for c in results.problem if c in finals and not finals[c].isna().all()]
    widths = finals.groupby([*keys, "algo"], dropna=False)[option].transform("nunique")
    several = widths.groupby([finals[key].astype(object).where(finals[key].notna(), "") for key in keys]).transform(
        "max"
    )
    refuse_unless(bool((several >= 2).any()), f"no method was run with two {several_of_it} or more")
    return finals[(several >= 2) & ((widths >= 2) | finals[option].isna())]


def others_at_best(
    results: Results, runs: pd.DataFrame, ask: Ask, option: str
) -> tuple[pd.DataFrame, dict[str, dict[str, float | str]], list[str]]:
    """Every method of one problem with all values of the option, and its others at their best: the runs, these best
    values, and what must be said."""
    kept, others, notes = [], {}, []
    for algo, mine in runs.groupby("algo", sort=False):
        name = method_name(algo, results)
        over = tuned_over(results, mine, option)
        if not {*over} - {option}:
            kept.append(mine)
            continue
        best = best_setting(mine, over, criterion(results, runs, ask))
        if best is None:
            notes.append(f"{name} not drawn: every setting {gone_in_words(mine)} for some seed")
            continue
        kept.append(best.of(mine, but=option))
        others[str(algo)] = {key: value for key, value in best.values.items() if key != option}
        chosen = f"{what_is_tuned(others[str(algo)])}, {in_symbols(others[str(algo)])}"
        notes.append(f"{name} at its best {chosen}: that of the best mean final {score_in_words(results, runs, ask)}")
    refuse_unless(bool(kept), f"every setting {gone_in_words(runs)} for some seed")
    return pd.concat(kept), others, notes


def fill(
    results: Results,
    ask: Ask,
    figure: Figure,
    axes: np.ndarray,
    settings: list[Setting],
    notes: list[str],
    title: Callable[[dict[str, Any]], str],
    rest: str = "",
) -> Picture:
    """A panel per setting; ``rest`` ends the caption."""
    drawn, used, look = [], set(), styles(set().union(*(set(runs["algo"]) for _, runs in settings)), results)
    overlay, shown, option = False, {}, ask.over
    multiplied: set[str] = set()
    beside: dict[str, list[dict[str, float | str]]] = defaultdict(list)
    flat = {algo for _, runs in settings for algo, some in runs.groupby("algo") if some[option].isna().all()}
    for ax, (key, runs) in zip(axes.flat, settings, strict=False):
        swept = _multiplied(results, runs, ask)
        runs, said = as_written(results, runs, ask, option)
        runs, others, more = others_at_best(results, runs, ask, option)
        below = {look[algo].label for algo in swept}
        said = [sentence for sentence in said if sentence.partition(":")[0] not in below]  # they are drawn, below
        notes += [f"{title(key)}: {sentence}" for sentence in (*said, *more)]
        metric = metrics(results, ask.metrics[:1], [score(runs)[0]])[0]
        shown[metric] = metric_name(metric, results) if metric != "test_accuracy" else "test accuracy"
        for algo, style in look.items():
            mine = runs[runs["algo"] == algo]
            if mine.empty:
                continue
            table = (
                draw_without_setting(ax, mine, metric, style, results)
                if mine[option].isna().all()
                else draw_against_setting(ax, mine, option, metric, style, results)
            )
            drawn.append(table.assign(algo=algo, **others.get(algo, {}), **key))
            beside[algo].append(others.get(algo, {}))
        used |= set(runs["run_id"])
        for algo, (mine, variants) in swept.items():
            table = draw_against_setting(ax, mine, "multiplier", metric, variant(look[algo], 1), results)
            drawn.append(table.assign(algo=algo, **key))
            used |= set(mine["run_id"])
            multiplied.add(algo)
            notes += [f"{title(key)}: {sentence}" for sentence in variants]
        if _in_decades(option, runs[option]):
            ax.set(xscale="log")
        ax.set_ylabel(metric_name(metric, results) if ax in axes[:, 0] or len(shown) > 1 else "")
        log_scale(ax, runs[metric], metric)
        letter_panel(ax, title(key))
        if metric == "test_accuracy" and option == "eta":
            overlay |= _published(ax, key, look)
    for ax in list(axes.flat)[len(settings) :]:
        ax.set_visible(False)
    under(axes, f"stepsize η{', or multiplier' if multiplied else ''}" if option == "eta" else symbol(option))
    entries = [
        legend_entry(style, with_values(style.label, beside[algo]), marker=algo not in flat)
        for algo, style in look.items()
    ]
    curves = [variant(style, 1) for algo, style in look.items() if algo in multiplied]
    entries += [legend_entry(style, f"{style.label} (multiplier)") for style in curves]
    legend(figure, entries, [PUBLISHED] if overlay else [])
    if multiplied:
        names = ", ".join(style.label for algo, style in look.items() if algo in multiplied)
        notes.append(f"{names}: a line without tuning, and a curve of its multipliers")
    if overlay:
        notes.append("hollow markers: the published runs; their η axis is another, so they do not line up with ours")
    caption = (
        f"Final {' and '.join(shown.values())} against {'the stepsize' if option == 'eta' else symbol(option)}{rest}"
    )
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, notes, caption)


def _multiplied(results: Results, runs: pd.DataFrame, ask: Ask) -> dict[str, tuple[pd.DataFrame, list[str]]]:
    """Methods without a stepsize whose multiplier, a stepsize like any other, was swept; and what must be said."""
    out = {}
    for algo, mine in runs.groupby("algo", sort=False):
        swept = sensitive_to(mine, ask.over)
        if swept is not None and swept != ask.over:
            mine, said = as_written(results, mine, ask, swept)
            mine, _, more = others_at_best(results, mine, ask, swept)
            out[str(algo)] = (mine, [*said, *more])
    return out


def _in_decades(option: str, values: pd.Series) -> bool:
    """Whether the axis is logarithmic: of stepsizes, and of what is positive and spans a decade."""
    return option == "eta" or bool(values.min() > 0 and values.max() >= 10 * values.min())


def _published(ax: Axes, key: dict[str, Any], look: dict[str, Any]) -> bool:
    table = published.rows_of_setting(key["dataset"], key["topology"], key["steps"])
    for algo, style in look.items():
        theirs = table[table["algo"] == algo]
        if algo == "dnasa":
            theirs = published.of_dnasa(table).assign(eta=1.0)  # at the right edge, wherever other panels put it
        if theirs.empty:  # an empty line that is not clipped has its place in the corner of the figure
            continue
        hollow = {"ls": "", "mfc": "none", "mec": style.colour, "mew": 0.6, "ms": 3.6, "zorder": 1}
        across = ax.get_yaxis_transform() if algo == "dnasa" else ax.transData
        ax.plot(theirs["eta"], theirs["test_accuracy"], marker=style.marker, clip_on=False, transform=across, **hollow)
    return not table.empty
