"""Final values with error bars, where bands would cover each other."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from analysis.drawing.lines import edge, mark_of, single_runs, spread, without_zeros
from analysis.drawing.style import Style
from analysis.results.labels import more_is_better
from analysis.results.results import Results


def draw_with_error_bars(
    ax: Axes,
    values: pd.DataFrame,
    key: str,
    metric: str,
    style: Style,
    results: Results | None = None,
    aside: float = 0.0,
    **look: Any,
) -> pd.DataFrame:
    """Draw final values against a setting as ``draw_against_setting`` does, with error bars instead of bands.

    The scale of the axis must be set before. ``aside`` moves everything along the x-axis. Returns the plotted numbers.
    """
    table = spread(values, key, metric, results)
    shown = without_zeros(ax, table[key] + aside, table, style)
    ends = [shown["mean"] - shown["low"], shown["high"] - shown["mean"]]
    line: dict[str, Any] = {"color": style.color, "ls": style.dash, "marker": style.marker, "lw": 1, **look}
    ax.errorbar(shown[key] + aside, shown["mean"], ends, **line)
    for point in table.to_dict("records"):
        if mark := mark_of(point):
            edge(ax, point[key] + aside, style, mark, bottom=more_is_better(metric, results))
    alive = single_runs(values, table, key, metric, results)
    if len(alive):
        ax.plot(alive[key] + aside, alive[metric], color=style.color, ls="", marker=style.marker, ms=2, alpha=0.6)
    return table
