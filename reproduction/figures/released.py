"""Methods as written in the paper and as in its released code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from analysis.drawing.lines import SHAPE, mark_of, single_runs, spread
from analysis.drawing.panels import Picture, legend, letter_panel, panels
from analysis.drawing.style import INK, PAGE, styles
from analysis.figures import figure
from analysis.results.labels import metric_name, more_is_better
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from reproduction.study.families import VARIED, variants, variants_in_words

SHOWN = ("test_accuracy", "stationarity", "consensus")
MEANINGS = {
    "independent starts": "independent starts: every node has its own initial point",
    "per-tensor norm": "per-tensor norm: each tensor of the model is normalized separately",
    "raw gradients averaged": "raw gradients averaged: the moving average uses gradients instead of tracked gradients",
    "row-stochastic matrix": "row-stochastic matrix: the columns of the mixing matrix do not sum to one",
    "mixed twice": "mixed twice: two rounds of gossip in each step",
}


@figure(
    "released",
    "Methods as written in the paper and as in its released code: effect of each difference",
    "python bench/run.py experiment=paper/released_vs_written",
    uses=(),
    along=VARIED,
)
def draw(results: Results, request: FigureOptions) -> Picture:
    finals = variants(results)
    splits = sorted(finals["split"].unique(), key=lambda split: split != "even")
    look = styles(finals["algo"].unique(), results)
    rows = list(dict.fromkeys((algo, change) for algo in look for change in _order(finals, algo)))
    shown = [metric for metric in SHOWN if metric in finals and finals[metric].notna().any()]
    figure, axes = panels(1, len(shown), 0.26 * len(rows) + 0.5, PAGE, sharey=True)
    drawn = []
    for ax, metric in zip(axes[0], shown, strict=True):
        for place, (algo, change) in enumerate(rows):
            for number, split in enumerate(splits):
                some = finals[(finals["algo"] == algo) & (finals["change"] == change) & (finals["split"] == split)]
                if not some.empty:
                    drawn.append(
                        _dot(ax, some, metric, place + 0.22 * (number - (len(splits) - 1) / 2), look[algo], number)
                    )
        if metric != "test_accuracy":
            ax.set_xscale("log")
        letter_panel(ax, metric_name(metric, results))
    axes[0, 0].set_yticks(
        range(len(rows)), [f"{look[algo].label}: {change}".replace(", ", ",\n") for algo, change in rows]
    )
    axes[0, 0].set_ylim(len(rows) - 0.5, -0.5)
    legend(
        figure,
        [
            Line2D([], [], color=INK, ls="", marker="o", mfc=(INK, "none")[n % 2], label=f"partition {s}")
            for n, s in enumerate(splits)
        ],
    )
    notes = variants_in_words(results, finals)
    notes += [note for change, note in MEANINGS.items() if finals["change"].str.contains(change).any()]
    return Picture(figure, pd.concat(drawn, ignore_index=True), set(finals["run_id"]), notes)


def _order(finals: pd.DataFrame, algo: str) -> list[str]:
    changes = finals.loc[finals["algo"] == algo, "change"].unique()
    return sorted(changes, key=lambda change: (change != "as written", change.count(","), change))


def _dot(ax: Any, runs: pd.DataFrame, metric: str, y: float, style: Any, number: int) -> pd.DataFrame:
    runs = runs.assign(x=0.0)
    table = spread(runs, "x", metric)
    (row,) = table.to_dict("records")
    filled = style.color if number % 2 == 0 else "white"
    alive = single_runs(runs, table, "x", metric)
    if len(alive):
        ax.plot(alive[metric], np.full(len(alive), y), ls="", marker="o", ms=2.2, color=style.color)
    else:
        ax.plot([row["low"], row["high"]], [y, y], color=style.color, lw=0.9)
        ax.plot(row["mean"], y, marker="o", ms=3.6, mfc=filled, mec=style.color, ls="")
    if mark := mark_of(row):
        look = {"marker": SHAPE[mark], "color": style.color, "ls": "", "label": mark, "clip_on": False}
        ax.plot(0.01 if more_is_better(metric) else 0.99, y, transform=ax.get_yaxis_transform(), **look)
    first = runs.iloc[0]
    return table.assign(metric=metric, algo=first["algo"], change=first["change"], split=first["split"]).drop(
        columns="x"
    )
