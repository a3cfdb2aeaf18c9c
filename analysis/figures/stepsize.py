"""Figure 3: how much the stepsize matters, on every dataset."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from analysis import published
from analysis.choose import as_written, need, one_per_dataset
from analysis.draw import DIVERGED, PUBLISHED, Picture, against, entry, legend, letter, level, panels
from analysis.figures import Ask
from analysis.results import Results
from analysis.statistics import score
from analysis.style import METRICS, PAGE, name_of, styles

TITLE = "Final test accuracy against the stepsize"
COMMAND = "python bench/run.py experiment=paper/stepsize_a9a"


def draw(results: Results, ask: Ask) -> Picture:
    finals = grids(results, results.finals)
    known = finals.groupby("dataset")["test_accuracy"].transform("count") > 0
    settings, notes = one_per_dataset(results, finals[known] if known.any() else finals)
    width = min(PAGE, 0.9 + 2.3 * len(settings))
    columns = min(3, len(settings))
    figure, axes = panels(-(-len(settings) // columns), columns, 1.9, max(width, 3.35))
    return fill(
        results, figure, axes, settings, notes, lambda key: f"{name_of(key['dataset'])}, {key['topology']} graph"
    )


def grids(results: Results, finals: pd.DataFrame) -> pd.DataFrame:
    """The runs of problems on which some method was run with several stepsizes, and those without one there."""
    need("eta" in finals, "no method was run with a stepsize")
    keys = [c for c in results.problem if c in finals and not finals[c].isna().all()]
    widths = finals.groupby([*keys, "algo"], dropna=False)["eta"].transform("nunique")
    several = widths.groupby([finals[key].astype(object).where(finals[key].notna(), "") for key in keys]).transform(
        "max"
    )
    need(bool((several >= 2).any()), "no method was run with two stepsizes or more")
    return finals[(several >= 2) & ((widths >= 2) | finals["eta"].isna())]


def fill(results: Results, figure: Any, axes: Any, settings: Any, notes: list[str], title: Any) -> Picture:
    """A panel per setting."""
    drawn, used, look = [], set(), styles(set().union(*(set(runs["algo"]) for _, runs in settings)))
    overlay = crossed = False
    for ax, (key, runs) in zip(axes.flat, settings, strict=False):
        runs, said = as_written(results, runs)
        notes += [f"{title(key)}: {sentence}" for sentence in said]
        metric = score(runs)[0]
        for algo, style in look.items():
            mine = runs[runs["algo"] == algo]
            if mine.empty:
                continue
            table = (
                level(ax, mine, metric, style) if mine["eta"].isna().all() else against(ax, mine, "eta", metric, style)
            )
            drawn.append(table.assign(algo=algo, **key))
            crossed |= bool((table["diverged"] > 0).any())
        used |= set(runs["run_id"])
        ax.set(xscale="log", xlabel="stepsize η", ylabel=METRICS[metric] if ax in axes[:, 0] else "")
        if metric == "test_loss":
            ax.set_yscale("log")
        letter(ax, title(key))
        if metric == "test_accuracy":
            overlay |= _published(ax, key, look)
    for ax in list(axes.flat)[len(settings) :]:
        ax.set_visible(False)
    entries = [entry(style, marker=algo != "dnasa") for algo, style in look.items()]
    legend(figure, [*entries, *([DIVERGED] if crossed else []), *([PUBLISHED] if overlay else [])], 7)
    if overlay:
        notes.append("hollow markers: the published runs; their η axis is another, so they do not line up with ours")
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, notes)


def _published(ax: Axes, key: dict[str, Any], look: dict[str, Any]) -> bool:
    table = published.of(key["dataset"], key["topology"], key["steps"])
    for algo, style in look.items():
        theirs = table[table["algo"] == algo]
        if algo == "dnasa":
            theirs = published.of_dnasa(table).assign(eta=ax.get_xlim()[1])
        if theirs.empty:  # an empty line that is not clipped has its place in the corner of the figure
            continue
        hollow = {"ls": "", "mfc": "none", "mec": style.colour, "mew": 0.6, "ms": 3.6, "zorder": 1}
        ax.plot(theirs["eta"], theirs["test_accuracy"], marker=style.marker, clip_on=False, **hollow)
    return not table.empty
