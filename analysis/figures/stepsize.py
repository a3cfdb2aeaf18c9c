"""Figure 3: how much the stepsize matters, on every dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.drawing.lines import draw_against_setting, draw_without_setting
from analysis.drawing.panels import PUBLISHED, Picture, legend, legend_entry, letter_panel, log_scale, panels, under
from analysis.drawing.style import PAGE, metric_name, name_of, styles
from analysis.figures import figure
from analysis.results.results import Results
from analysis.study import published
from analysis.study.ask import Ask
from analysis.study.select import as_written, metrics, one_per_dataset, refuse_unless, with_accuracies
from analysis.study.statistics import score

Setting = tuple[dict[str, Any], pd.DataFrame]


@figure("stepsize", "Final results against the stepsize", "python bench/run.py experiment=paper/stepsize_a9a")
def draw(results: Results, ask: Ask) -> Picture:
    finals = grids(results, results.finals)
    finals, said = with_accuracies(finals) if not ask.metrics else (finals, [])
    settings, notes = one_per_dataset(results, finals)
    notes += said
    width = min(PAGE, 0.9 + 2.3 * len(settings))
    columns = min(3, len(settings))
    figure, axes = panels(-(-len(settings) // columns), columns, 1.9, max(width, 3.35), sharex="col")
    return fill(
        results, ask, figure, axes, settings, notes, lambda key: f"{name_of(key['dataset'])}, {key['topology']} graph"
    )


def grids(results: Results, finals: pd.DataFrame) -> pd.DataFrame:
    """The runs of problems on which some method was run with several stepsizes, and those without one there."""
    refuse_unless("eta" in finals, "no method was run with a stepsize")
    keys = [c for c in results.problem if c in finals and not finals[c].isna().all()]
    widths = finals.groupby([*keys, "algo"], dropna=False)["eta"].transform("nunique")
    several = widths.groupby([finals[key].astype(object).where(finals[key].notna(), "") for key in keys]).transform(
        "max"
    )
    refuse_unless(bool((several >= 2).any()), "no method was run with two stepsizes or more")
    return finals[(several >= 2) & ((widths >= 2) | finals["eta"].isna())]


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
    overlay, shown = False, {}
    flat = {algo for _, runs in settings for algo, some in runs.groupby("algo") if some["eta"].isna().all()}
    for ax, (key, runs) in zip(axes.flat, settings, strict=False):
        runs, said = as_written(results, runs)
        notes += [f"{title(key)}: {sentence}" for sentence in said]
        metric = metrics(results, ask.metrics[:1], [score(runs)[0]])[0]
        shown[metric] = metric_name(metric, results) if metric != "test_accuracy" else "test accuracy"
        for algo, style in look.items():
            mine = runs[runs["algo"] == algo]
            if mine.empty:
                continue
            table = (
                draw_without_setting(ax, mine, metric, style, results)
                if mine["eta"].isna().all()
                else draw_against_setting(ax, mine, "eta", metric, style, results)
            )
            drawn.append(table.assign(algo=algo, **key))
        used |= set(runs["run_id"])
        ax.set(xscale="log")
        ax.set_ylabel(metric_name(metric, results) if ax in axes[:, 0] or len(shown) > 1 else "")
        log_scale(ax, runs[metric], metric)
        letter_panel(ax, title(key))
        if metric == "test_accuracy":
            overlay |= _published(ax, key, look)
    for ax in list(axes.flat)[len(settings) :]:
        ax.set_visible(False)
    under(axes, "stepsize η")
    entries = [legend_entry(style, marker=algo not in flat) for algo, style in look.items()]
    legend(figure, entries, [PUBLISHED] if overlay else [])
    if overlay:
        notes.append("hollow markers: the published runs; their η axis is another, so they do not line up with ours")
    caption = f"Final {' and '.join(shown.values())} against the stepsize{rest}"
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, notes, caption)


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
