"""What the figures share: curves with their spread, stepsize panels, legends. Nothing is dropped in silence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from analysis.style import INK, PAGE, Style
from bench.states import FINAL

BAND_FROM = 3
"""Seeds from which a band is drawn; below, the seeds themselves are."""


@dataclass
class Picture:
    """A figure, the numbers in it, the runs they come from, and what must be said about them."""

    figure: Figure
    data: pd.DataFrame
    runs: set[str]
    notes: list[str] = field(default_factory=list)


def panels(
    rows: int, columns: int, height: float = 1.7, width: float = PAGE, **share: Any
) -> tuple[Figure, np.ndarray]:
    """A grid of axes, with despined frames."""
    figure = Figure(figsize=(width, height * rows + 0.3), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **share)
    for ax in axes.flat:
        sns.despine(ax=ax)
    return figure, axes


def legend(figure: Figure, entries: Iterable[Line2D], columns: int | None = None) -> None:
    """One legend for all panels, above them."""
    entries = list(entries)
    if entries:
        figure.legend(handles=entries, loc="outside upper center", ncol=columns or min(len(entries), 6))


def entry(style: Style, label: str | None = None, marker: bool = True) -> Line2D:
    return Line2D(
        [], [], color=style.colour, ls=style.dash, marker=style.marker if marker else "", label=label or style.label
    )


DIVERGED = Line2D([], [], color=INK, ls="", marker="x", label="diverged")
PUBLISHED = Line2D([], [], color=INK, ls="", marker="o", mfc="none", label="published (their η axis)")


def letter(ax: Axes, text: str) -> None:
    ax.set_title(text, loc="left")


def log_ticks(axis: Axis) -> None:
    """Plain numbers where the axis spans less than two decades: 0.3 0.5 1 2, not 3×10⁻¹."""
    low, high = sorted(axis.get_view_interval())
    if low > 0 and high / low < 100:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0) if high / low > 4 else range(1, 10)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def curve(
    ax: Axes,
    rows: pd.DataFrame,
    x: str,
    y: str,
    style: Style,
    dash: object = None,
    after: int = -1,
    positive: bool = False,
) -> pd.DataFrame:
    """The mean over runs with the range of the seeds as a band, where all runs have a finite value.

    Below three runs each is drawn by itself. A run that diverged is drawn as far as it went and marked, and
    from there on there is no mean. What is drawn comes ``after`` a step, and may have to be ``positive``.
    Returns what was drawn.
    """
    count = rows["run_id"].nunique()
    rows = rows[np.isfinite(rows[y].astype(float)) & np.isfinite(rows[x].astype(float)) & (rows["step"] > after)]
    if positive:
        rows = rows[rows[y] > 0]
    if rows.empty:
        return pd.DataFrame()
    dash = style.dash if dash is None else dash
    gone = rows[rows["state"] == "diverged"]
    well = rows[rows["state"] != "diverged"]
    whole = rows.groupby("step").agg(
        x=(x, "mean"), mean=(y, "mean"), low=(y, "min"), high=(y, "max"), runs=("run_id", "nunique")
    )
    drawn = whole[whole["runs"] == count].reset_index()
    every = max(1, len(drawn) // 8)
    if count >= BAND_FROM and not drawn.empty:
        ax.fill_between(drawn["x"], drawn["low"], drawn["high"], color=style.colour, alpha=0.18, lw=0)
        x_values, means = drawn["x"].to_numpy(), drawn["mean"].to_numpy()
        look = {"color": style.colour, "ls": dash, "marker": style.marker, "markevery": every}
        sns.lineplot(x=x_values, y=means, ax=ax, estimator=None, legend=False, markeredgewidth=0, **look)
    else:
        for _, one in well.groupby("run_id"):
            ax.plot(one[x], one[y], color=style.colour, ls=dash, lw=1, marker=style.marker, markevery=every)
    for _, one in gone.groupby("run_id"):
        ax.plot(one[x], one[y], color=style.colour, ls=dash, lw=0.6, alpha=0.6)
        ax.plot(one[x].iloc[-1], one[y].iloc[-1], color=style.colour, marker="x", ls="")
    return drawn.assign(x_axis=x, metric=y)


def spread(values: pd.DataFrame, key: str, metric: str) -> pd.DataFrame:
    """Per value of ``key``: mean and range over the seeds, how many there are, and how many diverged.

    Where any diverged there is no mean: it would be the mean of the survivors.
    """
    out = values.groupby(key).agg(
        mean=(metric, "mean"),
        low=(metric, "min"),
        high=(metric, "max"),
        runs=("run_id", "nunique"),
        diverged=("state", lambda states: int((states == "diverged").sum())),
    )
    out.loc[out["diverged"] > 0, "mean"] = np.nan
    return out.reset_index()


def against(ax: Axes, values: pd.DataFrame, key: str, metric: str, style: Style) -> pd.DataFrame:
    """Final values against a setting, a line with the spread over seeds; diverged runs stand on the floor."""
    table = spread(values, key, metric)
    whole = table[table["diverged"] == 0]
    ax.plot(table[key], table["mean"], color=style.colour, ls=style.dash, marker=style.marker, markeredgewidth=0)
    if (whole["runs"] >= BAND_FROM).any():
        band = table.where(table["runs"] >= BAND_FROM)
        ax.fill_between(
            table[key], band["low"].where(table["diverged"] == 0), band["high"].where(table["diverged"] == 0),
            color=style.colour, alpha=0.18, lw=0,
        )  # fmt: skip
    few = values[values[key].isin(table.loc[(table["runs"] < BAND_FROM) | (table["diverged"] > 0), key])]
    alive = few[few["state"] == "done"]
    ax.plot(alive[key], alive[metric], color=style.colour, ls="", marker=style.marker, ms=2, alpha=0.6)
    for _, point in table[table["diverged"] > 0].iterrows():
        fallen(ax, point[key], style)
    return table.rename(columns={key: "x"}).assign(setting=key, metric=metric)


def level(ax: Axes, values: pd.DataFrame, metric: str, style: Style) -> pd.DataFrame:
    """A method without a stepsize: a line across the panel with its spread."""
    table = spread(values.assign(x=0.0), "x", metric)
    (row,) = table.to_dict("records")
    if row["diverged"]:
        ax.plot(0.98, 0.02, transform=ax.transAxes, color=style.colour, marker="x", ls="", clip_on=False)
    elif row["runs"] >= BAND_FROM:
        ax.axhspan(row["low"], row["high"], color=style.colour, alpha=0.15, lw=0)
        ax.axhline(row["mean"], color=style.colour, ls=style.dash)
    else:
        for value in values[metric]:
            ax.axhline(value, color=style.colour, ls=style.dash, lw=1)
    return table.assign(x=np.nan, setting=None, metric=metric)


def fallen(ax: Axes, x: float, style: Style) -> None:
    """Runs that diverged stand on the floor."""
    look = {"color": style.colour, "marker": "x", "ls": "", "ms": 4, "clip_on": False}
    ax.plot(x, 0.02, transform=ax.get_xaxis_transform(), **look)


def seeds_in_words(finals: pd.DataFrame) -> str:
    """7 runs (5 done, 2 diverged), seeds 0–4"""
    states = finals["state"].value_counts()
    states = ", ".join(f"{states[name]} {name}" for name in FINAL if name in states)
    return f"{len(finals)} run{'s' * (len(finals) != 1)} ({states}), {numbers('seed', sorted(finals['seed'].unique()))}"


def numbers(word: str, values: Sequence[int]) -> str:
    values = list(values)
    if len(values) == 1:
        return f"{word} {values[0]}"
    whole = len(values) > 2 and values == list(range(values[0], values[-1] + 1))
    return f"{word}s {values[0]}–{values[-1]}" if whole else f"{word}s {', '.join(map(str, values))}"
