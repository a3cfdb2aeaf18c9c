"""What stands in a panel: curves and final values with their spread. Nothing is dropped in silence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.lines import Line2D

from analysis.drawing.bands import kind, over_seeds
from analysis.drawing.panels import ARROW, DIVERGING, NONFINITE, ZERO
from analysis.drawing.style import Style
from analysis.results.labels import more_is_better
from analysis.results.results import Results

BAND_FROM = 3
"""Seeds from which a band is drawn; below, the seeds themselves are."""
MARKED = 8
"""Markers along a curve."""


def curve(
    ax: Axes,
    rows: pd.DataFrame,
    x: str,
    y: str,
    style: Style,
    after: int = -1,
    positive: bool = False,
    results: Results | None = None,
) -> pd.DataFrame:
    """The mean over runs with the range of the seeds as a band, where all runs have a finite value.

    Below three runs each is drawn by itself. A nonfinite run is drawn as far as it went and marked, and from there
    on there is no mean; nor is there one with a diverging run, which has no say in the axis. What is drawn comes
    ``after`` a step; where it must be ``positive``, zeros stand on the lower edge. ``results``
    know which way a plug-in's metric is better. Returns what was drawn.
    """
    rows = rows[[name for name in dict.fromkeys(("run_id", "step", "state", "diverging", x, y)) if name in rows]]
    count = rows["run_id"].nunique()
    rows = rows[np.isfinite(rows[y].astype(float)) & np.isfinite(rows[x].astype(float)) & (rows["step"] > after)]
    if rows.empty:
        return pd.DataFrame()
    off = _diverging(rows, y, results)
    gone = rows[(rows["state"] == "nonfinite") | off]
    well = rows[~rows["run_id"].isin(gone["run_id"])]
    steps = rows.groupby("step")
    whole = over_seeds(steps, y)
    whole.insert(0, "x", steps[x].mean())
    drawn = whole[whole["runs"] == count].reset_index()
    if off.any():
        drawn["mean"] = np.nan
    look: dict[str, Any] = {"color": style.color, "ls": style.dash, "marker": style.marker, "ms": style.size}
    if count >= BAND_FROM and drawn["mean"].notna().any():
        shown = _broken(drawn, "mean", ["mean", "low", "high"]) if positive else drawn
        shaded(ax, shown["x"], shown, style)
        ax.plot(shown["x"], shown["mean"], lw=style.width, markevery=_every(shown, style), markeredgewidth=0, **look)
        if positive:
            lonely(ax, shown["x"], shown["mean"], style)
            zero(ax, drawn.loc[drawn["mean"] == 0, "x"], style)
    else:
        for _, one in well.groupby("run_id"):
            shown = _broken(one, y, [y]) if positive else one
            ax.plot(shown[x], shown[y], lw=0.85 * style.width, markevery=_every(shown, style), **look)
            if positive:
                lonely(ax, shown[x], shown[y], style)
                zero(ax, one.loc[one[y] == 0, x], style)
    for _, one in gone.groupby("run_id"):
        faint = {"color": style.color, "ls": style.dash, "lw": 0.6, "alpha": 0.6}
        if off[one.index].any():
            ax.add_artist(Line2D(one[x], one[y], **faint))  # has no say in the axis, but for where it began
            ax.update_datalim(one.loc[one["step"] == 0, [x, y]].to_numpy(float))
            ax.update_datalim(one[[x, y]].to_numpy(float), updatey=False)
            edge(ax, one[x].iloc[-1], style, DIVERGING)
        else:
            ax.plot(one[x], one[y], **faint)
            ax.plot(one[x].iloc[-1], one[y].iloc[-1], color=style.color, marker="x", ls="", label=NONFINITE)
    return drawn.assign(x_axis=x, metric=y)


def _broken(rows: pd.DataFrame, y: str, columns: list[str]) -> pd.DataFrame:
    """Without the values of rows that are not positive: no line is drawn across them."""
    out = rows.copy()
    out.loc[~(out[y] > 0), columns] = np.nan
    first, last = out[y].first_valid_index(), out[y].last_valid_index()
    return out.loc[first:last] if first is not None else out.iloc[:0]


def shaded(ax: Axes, x: pd.Series, table: pd.DataFrame, style: Style) -> None:
    """A band of mean, low and high. What is computed, not a value of a seed, has no say in the axis below a tenth of
    the mean: on a logarithmic axis a standard deviation may reach down to 0."""
    low, high = table["low"], table["high"]
    look: dict[str, Any] = {"color": style.color, "alpha": style.band, "lw": 0}
    ends = [np.ma.masked_invalid(end.astype(float)) for end in (low, high)]
    ax.add_collection(FillBetweenPolyCollection("x", x, *ends, **look), autolim=False)
    seen = low if kind() == "range" else low.where(low > table["mean"] / 10, table["mean"] / 10)
    corners = pd.concat([pd.DataFrame({"x": x, "y": end}) for end in (seen, high)]).dropna()
    ax.update_datalim(corners.to_numpy(float))


def lonely(ax: Axes, x: pd.Series, y: pd.Series, style: Style) -> None:
    """A marker where a value stands between two that are not drawn: there is no line to see it by."""
    alone = y.notna() & y.shift(1).isna() & y.shift(-1).isna()
    if alone.any():
        ax.plot(x[alone], y[alone], color=style.color, ls="", marker=style.marker, ms=style.size, markeredgewidth=0)


def _every(shown: pd.DataFrame, style: Style) -> tuple[int, int]:
    """Markers of different methods stand at different points, so that lines that coincide are told apart."""
    every = max(1, len(shown) // (MARKED // 2 if style.many else MARKED))
    if len(shown) >= MARKED:
        every = max(2, every)
    return style.place % every, every


def _diverging(rows: pd.DataFrame, metric: str, results: Results | None) -> pd.Series:
    """Whether a run is diverging in this metric; in metrics of which more is better, none is."""
    known = rows["diverging"] if "diverging" in rows else rows["state"] == "diverging"
    return known & (not more_is_better(metric, results))


def spread(values: pd.DataFrame, key: str, metric: str, results: Results | None = None) -> pd.DataFrame:
    """Per value of ``key``: mean and range over the seeds, the number of runs, of nonfinite ones and of diverging ones.

    Where any diverged there is no mean: it would be the mean of the survivors.
    """
    groups = values.assign(off=_diverging(values, metric, results), gone=values["state"] == "nonfinite").groupby(key)
    out = over_seeds(groups, metric).assign(nonfinite=groups["gone"].sum(), diverging=groups["off"].sum())
    out.loc[out["nonfinite"] > 0, "mean"] = np.nan
    return out.reset_index()


def draw_against_setting(
    ax: Axes, values: pd.DataFrame, key: str, metric: str, style: Style, results: Results | None = None
) -> pd.DataFrame:
    """Final values against a setting, a line with the spread over seeds; what has no value stands at the worse edge."""
    table = spread(values, key, metric, results)
    gone = (table["nonfinite"] > 0) | (table["diverging"] > 0)
    look: dict[str, Any] = {"color": style.color, "ls": style.dash, "lw": style.width}
    marker: dict[str, Any] = {"marker": style.marker, "ms": style.size, "markeredgewidth": 0}
    ax.plot(table[key], table["mean"].where(~gone), **look, **marker)
    known = (table["runs"] >= BAND_FROM) & ~gone
    if known.any():
        shaded(ax, table[key], table.where(known), style)
    few = values[values[key].isin(table.loc[(table["runs"] < BAND_FROM) | (table["nonfinite"] > 0), key])]
    alive = few[(few["state"] != "nonfinite") & ~_diverging(few, metric, results)]
    ax.plot(alive[key], alive[metric], color=style.color, ls="", marker=style.marker, ms=2, alpha=0.6)
    for number, point in table[gone].iterrows():
        mark = NONFINITE if point["nonfinite"] > 0 else DIVERGING
        height = edge(ax, point[key], style, mark, bottom=more_is_better(metric, results))
        if mark == DIVERGING and number and not gone[number - 1]:  # the way out of the panel
            before = table.loc[number - 1]
            thin = {"arrowstyle": "-", "shrinkA": 0, "shrinkB": 3, **look, "lw": 0.5 * style.width}
            where: Any = {"xycoords": ax.get_xaxis_transform(), "textcoords": "data", "annotation_clip": False}
            ax.annotate("", (point[key], height), (before[key], before["mean"]), arrowprops=thin, **where)
    return table.rename(columns={key: "x"}).assign(setting=key, metric=metric)


def draw_without_setting(
    ax: Axes, values: pd.DataFrame, metric: str, style: Style, results: Results | None = None
) -> pd.DataFrame:
    """A method without a stepsize: a line across the panel with its spread."""
    table = spread(values.assign(x=0.0), "x", metric, results)
    (row,) = table.to_dict("records")
    if row["nonfinite"] or row["diverging"]:
        mark = NONFINITE if row["nonfinite"] else DIVERGING
        look = {"color": style.color, "marker": SHAPE[mark], "ls": "", "clip_on": False, "label": mark}
        ax.plot(0.98, 0.02 if more_is_better(metric, results) else 0.98, transform=ax.transAxes, **look)
    elif row["runs"] >= BAND_FROM:
        if np.isfinite(row["low"]):
            ax.axhspan(row["low"], row["high"], color=style.color, alpha=0.15, lw=0)
        ax.axhline(row["mean"], color=style.color, ls=style.dash, lw=style.width)
    else:
        for value in values[metric]:
            ax.axhline(value, color=style.color, ls=style.dash, lw=1)
    return table.assign(x=np.nan, setting=None, metric=metric)


SHAPE: dict[str, Any] = {NONFINITE: "x", DIVERGING: ARROW}


def edge(ax: Axes, x: float, style: Style, mark: str, bottom: bool = False) -> float:
    """A mark at the edge of the panel for what has no place in it; returns its height, as a part of the panel's."""
    look = {"color": style.color, "marker": SHAPE[mark], "ls": "", "clip_on": False, "label": mark}
    look["ms"] = 4 if mark == NONFINITE else 6
    apart = 0.05 if mark == NONFINITE else 0.09  # those of several methods at one place are told apart
    before = sum(line.get_label() == mark and x in np.asarray(line.get_xdata()) for line in ax.lines)
    inwards = 0.02 + apart * before % 0.9
    height = inwards if bottom else 1 - inwards
    ax.plot(x, height, transform=ax.get_xaxis_transform(), **look)
    return height


def zero(ax: Axes, x: pd.Series, style: Style) -> None:
    """Values of exactly 0 on a logarithmic axis: hollow, on the lower edge."""
    if len(x):
        look = {"color": style.color, "marker": style.marker, "mfc": "none", "mew": 0.7, "ls": "", "label": ZERO}
        few = x.iloc[style.place % max(1, len(x) // MARKED) :: max(1, len(x) // MARKED)]
        ax.plot(few, np.zeros(len(few)), transform=ax.get_xaxis_transform(), clip_on=False, **look)
