"""Curves and final values with their spread. Diverged runs and zeros are marked."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.lines import Line2D

from analysis.drawing.bands import BAND, current, over_seeds
from analysis.drawing.panels import ARROW, DIVERGING, NONFINITE, ZERO
from analysis.drawing.style import Style
from analysis.drawing.thinned import thinned
from analysis.results.labels import more_is_better
from analysis.results.results import Results

BAND_FROM = 3
"""The smallest number of seeds for a band; with fewer, each seed is drawn."""
DRAWN = ["run_id", "seed", "state"]
"""The labels that ``curve`` needs. To join all labels to the rows of many runs takes most of the time."""
MARKED = 8
"""Number of markers along a curve."""


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
    """Draw the mean over runs with its band; with fewer than three runs, draw each run.

    Nonfinite runs are drawn up to their last value and marked; the mean ends there. With a diverging run there is no
    mean, and that run does not affect the axis.

    Only steps ``after`` the given one are drawn. With ``positive``, zeros are marked on the lower edge of the
    logarithmic axis. ``results`` declare whether more is better of a plug-in's metric. Returns the plotted numbers.
    """
    rows = rows[[name for name in dict.fromkeys(("run_id", "seed", "step", "state", x, y)) if name in rows]]
    count = rows["run_id"].nunique()
    rows = rows[np.isfinite(rows[y].astype(float)) & np.isfinite(rows[x].astype(float)) & (rows["step"] > after)]
    if rows.empty:
        return pd.DataFrame()
    off = _diverging(rows, y, results)
    gone = rows[(rows["state"] == "nonfinite") | off]
    steps = rows.groupby("step")
    means = over_seeds(steps, y)
    means.insert(0, "x", steps[x].mean())
    drawn = means[means["runs"] == count].reset_index()
    if off.any():
        drawn["mean"] = np.nan
    if count >= BAND_FROM and drawn["mean"].notna().any():
        few = thinned(drawn, "mean", "low", "high")
        shown = _without_zeros(few, "mean") if positive else few
        shaded(ax, shown["x"], shown, style)
        _line(ax, few, "x", "mean", style, positive, lw=style.width, markeredgewidth=0)
    else:
        for _, one in rows[~rows["run_id"].isin(gone["run_id"])].groupby("run_id"):
            _line(ax, thinned(one, y), x, y, style, positive, lw=0.85 * style.width)
    for _, one in gone.groupby("run_id"):
        _diverged_run(ax, thinned(one, y), x, y, style, bool(off[one.index].any()))
    return drawn.assign(x_axis=x, metric=y)


def _line(ax: Axes, rows: pd.DataFrame, x: str, y: str, style: Style, positive: bool, **look: Any) -> None:
    shown = _without_zeros(rows, y) if positive else rows
    look |= {"color": style.color, "ls": style.dash, "marker": style.marker, "ms": style.size}
    ax.plot(shown[x], shown[y], markevery=_every(shown, style), **look)
    if positive:
        _mark_isolated(ax, shown[x], shown[y], style)
        _mark_zeros(ax, rows.loc[rows[y] == 0, x], style)


def _diverged_run(ax: Axes, rows: pd.DataFrame, x: str, y: str, style: Style, off: bool) -> None:
    """Draw a nonfinite run, or one that is ``off`` the axis."""
    faint = {"color": style.color, "ls": style.dash, "lw": 0.6, "alpha": 0.6}
    if off:
        ax.add_artist(Line2D(rows[x], rows[y], **faint))  # only its first value affects the axis
        ax.update_datalim(rows.loc[rows["step"] == 0, [x, y]].to_numpy(float))
        ax.update_datalim(rows[[x, y]].to_numpy(float), updatey=False)
        edge(ax, rows[x].iloc[-1], style, DIVERGING)
    else:
        ax.plot(rows[x], rows[y], **faint)
        ax.plot(rows[x].iloc[-1], rows[y].iloc[-1], color=style.color, marker="x", ls="", label=NONFINITE)


def _without_zeros(rows: pd.DataFrame, y: str) -> pd.DataFrame:
    """Replace values that are not positive by NaN, so that no line crosses them."""
    out = rows.copy()
    out.loc[~(out[y] > 0), [y, *({"low", "high"} & {*out})]] = np.nan
    first, last = out[y].first_valid_index(), out[y].last_valid_index()
    return out.loc[first:last] if first is not None else out.iloc[:0]


def shaded(ax: Axes, x: pd.Series, table: pd.DataFrame, style: Style) -> None:
    """Draw a band. The axis covers it, except that computed ends below a tenth of the mean do not affect the axis: on a
    logarithmic axis, a standard deviation may reach down to 0."""
    low, high = table["low"], table["high"]
    look: dict[str, Any] = {"color": style.color, "alpha": style.band, "lw": 0}
    look["label"] = BAND if low.notna().any() else ""
    ends = [np.ma.masked_invalid(end.astype(float)) for end in (low, high)]
    ax.add_collection(FillBetweenPolyCollection("x", x, *ends, **look), autolim=False)
    seen = low if current.get().kind == "range" else low.where(low > table["mean"] / 10, table["mean"] / 10)
    corners = pd.concat([pd.DataFrame({"x": x, "y": end}) for end in (seen, high)]).dropna()
    ax.update_datalim(corners.to_numpy(float))


def _mark_isolated(ax: Axes, x: pd.Series, y: pd.Series, style: Style) -> None:
    """Mark a value whose two neighbors are not drawn, since it has no line."""
    alone = y.notna() & y.shift(1).isna() & y.shift(-1).isna()
    if alone.any():
        ax.plot(x[alone], y[alone], color=style.color, ls="", marker=style.marker, ms=style.size, markeredgewidth=0)


def _every(shown: pd.DataFrame, style: Style) -> tuple[int, int]:
    """Put the markers of different methods at different points, so that coinciding lines can be distinguished."""
    every = max(1, len(shown) // (MARKED // 2 if style.many else MARKED))
    if len(shown) >= MARKED:
        every = max(2, every)
    return style.place % every, every


def _diverging(rows: pd.DataFrame, metric: str, results: Results | None) -> pd.Series:
    """Return which rows belong to runs that diverge in this metric. None does if more is better."""
    return (rows["state"] == "diverging") & (not more_is_better(metric, results))


def spread(values: pd.DataFrame, key: str, metric: str, results: Results | None = None) -> pd.DataFrame:
    """Return mean, band and numbers of all, nonfinite and diverging runs, for each value of ``key``.

    Mean and band are NaN if a run diverged or lacks the metric, since they would only be those of the other seeds.
    """
    needed = dict.fromkeys(("run_id", "seed", key, metric))  # other labels would take most of the time
    table = values[[name for name in needed if name in values]]
    groups = table.assign(off=_diverging(values, metric, results), gone=values["state"] == "nonfinite").groupby(key)
    out = over_seeds(groups, metric).assign(nonfinite=groups["gone"].sum(), diverging=groups["off"].sum())
    out.loc[out["nonfinite"] + out["diverging"] > 0, ["mean", "low", "high"]] = np.nan
    return out.reset_index()


def mark_of(point: Mapping[Any, Any]) -> str:
    """Return the mark of a row of ``spread``; empty if none of its runs diverged."""
    return NONFINITE if point["nonfinite"] > 0 else DIVERGING if point["diverging"] > 0 else ""


def single_runs(
    values: pd.DataFrame, table: pd.DataFrame, key: str, metric: str, results: Results | None = None
) -> pd.DataFrame:
    """Return the runs to draw one by one beside ``table``, the ``spread`` of these values."""
    few = values[values[key].isin(table.loc[(table["runs"] < BAND_FROM) | (table["nonfinite"] > 0), key])]
    return few[(few["state"] != "nonfinite") & ~_diverging(few, metric, results)]


def without_zeros(ax: Axes, x: pd.Series, table: pd.DataFrame, style: Style) -> pd.DataFrame:
    """Return the rows of ``spread`` to draw: on a logarithmic axis, means of 0 are marked at its lower edge instead."""
    if ax.get_yscale() != "log":
        return table
    _mark_zeros(ax, x[table["mean"] == 0], style)
    return _without_zeros(table, "mean")


def draw_against_setting(
    ax: Axes, values: pd.DataFrame, key: str, metric: str, style: Style, results: Results | None = None
) -> pd.DataFrame:
    """Draw final values against a setting, with their band. Diverged runs are marked at the worst end of the axis.

    The scale of the axis must be set before, since zeros are marked on a logarithmic axis alone.
    """
    table = spread(values, key, metric, results)
    marks = pd.Series([mark_of(point) for point in table.to_dict("records")], table.index, dtype=object)
    look: dict[str, Any] = {"color": style.color, "ls": style.dash, "lw": style.width}
    marker: dict[str, Any] = {"marker": style.marker, "ms": style.size, "markeredgewidth": 0}
    shown = without_zeros(ax, table[key], table, style)
    ax.plot(shown[key], shown["mean"], **look, **marker)
    known = shown.dropna(subset="mean")
    if (banded := shown["mean"].notna() & (shown["runs"] >= BAND_FROM)).any():
        shaded(ax, shown[key], shown.where(banded), style)
    alive = single_runs(values, table, key, metric, results)
    ax.plot(alive[key], alive[metric], color=style.color, ls="", marker=style.marker, ms=2, alpha=0.6)
    for number, point in table[marks != ""].iterrows():
        height = edge(ax, point[key], style, marks[number], bottom=more_is_better(metric, results))
        if marks[number] == DIVERGING and number - 1 in known.index:  # a line towards the mark
            before = known.loc[number - 1]
            thin = {"arrowstyle": "-", "shrinkA": 0, "shrinkB": 3, **look, "lw": 0.5 * style.width}
            where: Any = {"xycoords": ax.get_xaxis_transform(), "textcoords": "data", "annotation_clip": False}
            ax.annotate("", (point[key], height), (before[key], before["mean"]), arrowprops=thin, **where)
    return table.rename(columns={key: "x"}).assign(setting=key, metric=metric)


def draw_without_setting(
    ax: Axes, values: pd.DataFrame, metric: str, style: Style, results: Results | None = None
) -> pd.DataFrame:
    """Draw the final value of a method without a stepsize as a horizontal line with its band."""
    table = spread(values.assign(x=0.0), "x", metric, results)
    (row,) = table.to_dict("records")
    if mark := mark_of(row):
        look = {"color": style.color, "marker": SHAPE[mark], "ls": "", "clip_on": False, "label": mark}
        ax.plot(0.98, 0.02 if more_is_better(metric, results) else 0.98, transform=ax.transAxes, **look)
    elif row["runs"] >= BAND_FROM:
        if np.isfinite(row["low"]):
            ax.axhspan(row["low"], row["high"], color=style.color, alpha=0.15, lw=0, label=BAND)
        ax.axhline(row["mean"], color=style.color, ls=style.dash, lw=style.width)
    else:
        for value in values[metric]:
            ax.axhline(value, color=style.color, ls=style.dash, lw=1)
    return table.assign(x=np.nan, setting=None, metric=metric)


SHAPE: dict[str, Any] = {NONFINITE: "x", DIVERGING: ARROW}


def edge(ax: Axes, x: float, style: Style, mark: str, bottom: bool = False) -> float:
    """Mark a diverged run at the edge of the panel, and return the height of the mark in axes coordinates."""
    look = {"color": style.color, "marker": SHAPE[mark], "ls": "", "clip_on": False, "label": mark}
    look["ms"] = 4 if mark == NONFINITE else 6
    apart = 0.05 if mark == NONFINITE else 0.09  # distance between the marks of several methods
    before = sum(line.get_label() == mark and x in np.asarray(line.get_xdata()) for line in ax.lines)
    inwards = 0.02 + apart * before % 0.9
    height = inwards if bottom else 1 - inwards
    ax.plot(x, height, transform=ax.get_xaxis_transform(), **look)
    return height


def _mark_zeros(ax: Axes, x: pd.Series, style: Style) -> None:
    """Draw values of exactly 0 on a logarithmic axis as hollow markers on the lower edge."""
    if len(x):
        look = {"color": style.color, "marker": style.marker, "mfc": "none", "mew": 0.7, "ls": "", "label": ZERO}
        few = x.iloc[style.place % max(1, len(x) // MARKED) :: max(1, len(x) // MARKED)]
        ax.plot(few, np.zeros(len(few)), transform=ax.get_xaxis_transform(), clip_on=False, **look)
