"""The methods as the paper writes them, and as its released code has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from analysis.drawing.lines import BAND_FROM, spread
from analysis.drawing.panels import Picture, legend, letter, panels
from analysis.drawing.style import INK, PAGE, metric_name, name_of, styles
from analysis.figures import Ask, figure
from analysis.results.results import Results
from analysis.study.select import AS_WRITTEN, need, problems

SHOWN = ("test_accuracy", "stationarity", "consensus")
CHANGES = {
    "normalize": "per-tensor norm",
    "average": "raw gradients averaged",
    "gossip": "mixed twice",
    "init": "independent starts",
    "topology": "row-stochastic matrix",
}


@figure(
    "released",
    "As written and as released: what each difference does",
    "python bench/run.py experiment=paper/released_vs_written",
)
def draw(results: Results, ask: Ask) -> Picture:
    finals = variants(results)
    splits = sorted(finals["split"].unique(), key=lambda split: split != "even")
    look = styles(finals["algo"].unique(), results)
    rows = list(dict.fromkeys((algo, change) for algo in look for change in _order(finals, algo)))
    shown = [metric for metric in SHOWN if finals[metric].notna().any()]
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
        letter(ax, metric_name(metric, results))
    axes[0, 0].set_yticks(range(len(rows)), [f"{look[algo].label}: {change}" for algo, change in rows])
    axes[0, 0].set_ylim(len(rows) - 0.5, -0.5)
    legend(
        figure,
        [Line2D([], [], color=INK, ls="", marker="o", mfc=(INK, "none")[n % 2], label=s) for n, s in enumerate(splits)],
    )
    (dataset,) = finals["dataset"].unique()
    notes = [f"{name_of(dataset)}; dots are means, lines the range over the seeds"]
    return Picture(figure, pd.concat(drawn, ignore_index=True), set(finals["run_id"]), notes)


def variants(results: Results) -> pd.DataFrame:
    """Runs as written and changed in one way or more, on one dataset, with what was changed and how data is split."""
    best = None
    finals = results.finals
    if "multiplier" in finals:
        finals = finals[finals["multiplier"].isna() | (finals["multiplier"] == AS_WRITTEN["multiplier"])]
    finals = finals[finals["schedule"] == "diminishing"] if "schedule" in finals else finals
    for _, runs in problems(results, finals, but=("partition", "topology", "init")):
        asked = runs[[c for c in (*CHANGES, "partition", "partition.alpha") if c in runs]].to_dict("records")
        told = runs.assign(change=[_change(row) for row in asked], split=[split(row) for row in asked])
        told = told[told["topology"].isin(_graphs(told))]
        # with the stepsize at which the change was made, and the graph and split on which it was
        for algo, some in told.groupby("algo"):
            if "eta" in some and some["eta"].notna().any():
                changed = some[some["change"] != "as written"]["eta"].unique()
                told = told[(told["algo"] != algo) | told["eta"].isin(changed)]
        splits = told.loc[told["change"] != "as written", "split"].unique()
        told = told[told["split"].isin(splits)]
        if (told["change"] != "as written").any() and (
            best is None or told["change"].nunique() > best["change"].nunique()
        ):
            best = told
    need(best is not None, "no run has a method as it was released, in place of as written")
    return best


def _graphs(runs: pd.DataFrame) -> set[str]:
    """The graph on which most changes were tried, and the matrix that is one."""
    changed = runs[(runs["change"] != "as written") & (runs["topology"] != "row_stochastic")]
    usual = (
        changed.groupby("topology")["change"].nunique() if len(changed) else runs.groupby("topology")["run_id"].count()
    )
    return {str(usual.idxmax()), "row_stochastic"}


def _change(row: dict[str, Any]) -> str:
    words = [
        CHANGES[key]
        for key in ("normalize", "average", "gossip")
        if pd.notna(row.get(key)) and row[key] != AS_WRITTEN[key]
    ]
    words += [CHANGES["init"]] * (row["init"] == "independent") + [CHANGES["topology"]] * (
        row["topology"] == "row_stochastic"
    )
    return ", ".join(words) or "as written"


def split(row: dict[str, Any]) -> str:
    alpha = row.get("partition.alpha")
    return f"{row['partition']}({alpha:g})" if pd.notna(alpha) else str(row["partition"])


def _order(finals: pd.DataFrame, algo: str) -> list[str]:
    changes = finals.loc[finals["algo"] == algo, "change"].unique()
    return sorted(changes, key=lambda change: (change != "as written", change.count(","), change))


def _dot(ax: Any, runs: pd.DataFrame, metric: str, y: float, style: Any, number: int) -> pd.DataFrame:
    table = spread(runs.assign(x=0.0), "x", metric)
    row = table.iloc[0]
    filled = style.colour if number % 2 == 0 else "white"
    alive = runs[(runs["state"] == "done") & np.isfinite(runs[metric].astype(float))]
    if row["diverged"] or row["runs"] < BAND_FROM:
        ax.plot(alive[metric], np.full(len(alive), y), ls="", marker="o", ms=2.2, color=style.colour)
    else:
        ax.plot([row["low"], row["high"]], [y, y], color=style.colour, lw=0.9)
        ax.plot(row["mean"], y, marker="o", ms=3.6, mfc=filled, mec=style.colour, ls="")
    if row["diverged"]:
        ax.plot(0.99, y, transform=ax.get_yaxis_transform(), marker="x", color=style.colour, ls="")
    first = runs.iloc[0]
    return table.assign(metric=metric, algo=first["algo"], change=first["change"], split=first["split"]).drop(
        columns="x"
    )
