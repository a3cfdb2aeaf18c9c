"""Panels, titles, legends and ticks of all figures."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from analysis.drawing.bands import BAND, IN_LEGENDS, current
from analysis.drawing.style import COLUMN, CROWD, INK, PAGE, Style, escape_texts
from analysis.drawing.ticks import linear_ticks, log_ticks
from analysis.results.errors import NoData
from analysis.results.labels import METRICS, MORE_IS_BETTER
from analysis.results.wording import many, ranges

LINE = 0.2
"""Height of one line of a legend, in inches. Every figure has room for it."""
TALL, SMALL = 8, 6
"""The largest number of lines of a legend in the usual font size, and the smaller size in points."""
MOST = 240
"""The largest number of panels."""
SIDE = 0.1
"""Distance of a legend from the sides of the figure, in inches."""


@dataclass
class Picture:
    """A drawn figure, which a function under ``@figure`` returns.

    Attributes:
        figure: The Matplotlib figure.
        data: The numbers in it, for the csv file.
        runs: The names of the runs that it shows.
        notes: Sentences for the caption.
        title: The first sentence of the caption, if it differs from the registered one.
    """

    figure: Figure
    data: pd.DataFrame
    runs: set[str]
    notes: list[str] = field(default_factory=list)
    title: str | None = None

    def __post_init__(self) -> None:
        more = [note for mark, note in NOTES.items() if has(self.figure, mark)]
        self.notes = list(dict.fromkeys([*self.notes, *more]))


def panels(
    rows: int, columns: int, height: float = 1.7, width: float | None = None, look: Collection[str] = (), **share: Any
) -> tuple[Figure, np.ndarray]:
    """Return a figure and its grid of axes. With one column it is as wide as a column of a paper, else as the page.

    With more than ``CROWD`` methods in ``look``, the panels are taller and the figure is as wide as the page.

    Raises:
        NoData: There are more than ``MOST`` panels, which would take minutes.
    """
    if rows * columns > MOST:
        raise NoData(f"it would have {rows * columns} panels, more than {MOST}; choose runs with --where LABEL=VALUE")
    crowd = len(look) > CROWD
    width = width or (PAGE if columns > 1 or crowd else COLUMN)
    figure = Figure(figsize=(width, height * (1.8 if crowd else 1.0) * rows + 0.3), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **share)
    for ax in axes.flat:
        sns.despine(ax=ax)
    return figure, axes


def under(axes: np.ndarray, label: str) -> None:
    """Label a shared x-axis at the lowest visible panel of each column."""
    for column in axes.T:
        lowest = [ax for ax in column if ax.get_visible()][-1]
        lowest.set_xlabel(label)
        lowest.tick_params(labelbottom=True)


ARROW = r"$\uparrow$"
NONFINITE, DIVERGING, ZERO = "_nonfinite", "_diverging", "_zero"
"""Labels of marks for values that are outside the axes."""
MARKS = {
    NONFINITE: Line2D([], [], color=INK, ls="", marker="x", label="diverged (inf or NaN)"),
    DIVERGING: Line2D([], [], color=INK, ls="", marker=ARROW, ms=6, label="diverged (off the axis)"),
    ZERO: Line2D([], [], color=INK, ls="", marker="o", mfc="none", mew=0.7, label="exactly 0"),
}
NOTES = {
    NONFINITE: "crosses mark runs that diverged to inf or NaN",
    DIVERGING: "arrows mark diverged runs that stayed finite: their training loss rose by more than 100 times its "
    "initial value; their values do not affect the axis",
    ZERO: "hollow markers on the lower edge mark values of exactly 0",
}


def has_mark(ax: Axes, mark: str) -> bool:
    return any(line.get_label() == mark for line in ax.lines)


def has(figure: Figure, mark: str) -> bool:
    return any(has_mark(ax, mark) for ax in figure.axes)


PLACES = {"above": "upper center", "below": "lower center", "right": "right upper", "inside": "", "none": ""}
"""Places of a legend, with their names in Matplotlib."""


def legend(figure: Figure, entries: Iterable[Line2D], more: Iterable[Line2D] = ()) -> None:
    """Add one legend for all panels, with the marks and the kind of bands that are drawn.

    More than ``CROWD`` entries go below the panels.
    """
    entries = [*entries, *(line for mark, line in MARKS.items() if has(figure, mark)), *more, *_band_entry(figure)]
    if entries:
        _place_legend(figure, entries, "below" if len(entries) > CROWD else "above")


def _band_entry(figure: Figure) -> Iterator[Line2D]:
    """Yield the entry that says what the bands mean, if some are drawn."""
    drawn = (artist.get_label() == BAND for ax in figure.axes for artist in (*ax.collections, *ax.patches))
    if any(drawn) and (label := IN_LEGENDS.get(current.get().kind)):
        yield Line2D([], [], color=INK, lw=6, alpha=0.2, solid_capstyle="butt", label=label)


def move_legend(figure: Figure, place: str | None) -> bool:
    """Move the legend, or fit it to the new size of the figure. Return whether the figure has a legend."""
    if not figure.legends:
        return False
    old = figure.legends[0]
    entries = list(old.legend_handles)
    figure.set_figheight(figure.get_figheight() - _room(old, figure))
    old.remove()
    _place_legend(figure, entries, place or ("below" if len(entries) > CROWD else "above"))
    return True


def _place_legend(figure: Figure, entries: list[Any], place: str) -> None:
    FigureCanvasAgg(figure)  # needed to measure texts
    crowd = len(entries) > CROWD
    look: dict[str, Any] = {"loc": f"outside {PLACES[place]}", **({"borderaxespad": 1.0} if crowd else {})}
    if place == "inside":
        _legend_inside(next(ax for ax in figure.axes if ax.axison), entries)
    elif place == "right":
        made = figure.legend(handles=entries, fontsize=SMALL if crowd else None, **look)
        tall = made.get_window_extent().height / figure.dpi + 2 * SIDE
        figure.set_figheight(max(figure.get_figheight(), tall))
    elif place != "none":
        _legend_outside(figure, entries, look)


def _legend_inside(panel: Axes, entries: list[Any]) -> None:
    """Use as many columns as the legend needs to fit the height of the panel, at most four."""
    look: dict[str, Any] = {"loc": "best", "frameon": True, "facecolor": "white", "edgecolor": "none"}
    for columns in range(1, 5):
        made = panel.legend(handles=entries, fontsize=SMALL, ncol=columns, **look)
        if made.get_window_extent().height < 0.9 * panel.get_window_extent().height:
            break


def _legend_outside(figure: Figure, entries: list[Any], look: dict[str, Any]) -> None:
    """Use as many columns as fit the width of the figure, and make the figure taller for the lines."""
    width = figure.get_figwidth() - 2 * SIDE
    tries: list[tuple[int, float | None]] = [(lines, None) for lines in range(1, min(len(entries), TALL) + 1)]
    tries += [(lines, SMALL) for lines in range(1, len(entries) + 1)]
    for lines, size in tries:
        columns = -(-len(entries) // lines)
        made = figure.legend(handles=entries, ncol=columns, fontsize=size, **look)
        escape_texts(made)
        over = made.get_window_extent().transformed(figure.dpi_scale_trans.inverted()).width / width
        if over <= 1 or columns == 1:
            break
        made.remove()
    if over > 1:  # a single label is too long
        for text in made.get_texts():
            text.set_fontsize(float(text.get_fontsize()) / over)
    figure.set_figheight(figure.get_figheight() + _room(made, figure))


def _room(made: Legend, figure: Figure) -> float:
    """Return the additional height of a figure for the lines of its legend, in inches."""
    return max(0.0, made.get_window_extent().height / figure.dpi - LINE - 0.06)


def legend_entry(style: Style, label: str | None = None, marker: bool = True) -> Line2D:
    look: dict[str, Any] = {"color": style.color, "ls": style.dash, "lw": style.width, "ms": style.size}
    return Line2D([], [], label=label or style.label, marker=style.marker if marker else "", **look)


def letter_panel(ax: Axes, text: str) -> None:
    """Set the title of a panel, broken into lines at commas if it is wider than the panel."""
    figure, place = ax.get_figure(root=True), ax.get_subplotspec()
    assert figure is not None
    assert place is not None
    FigureCanvasAgg(figure)  # needed to measure texts
    room = figure.get_figwidth() / place.get_gridspec().ncols - 0.45
    lines: list[str] = []
    for part in text.split(", "):
        longer = f"{lines[-1]}, {part}" if lines else part
        escape_texts(title := ax.set_title(longer, loc="left"))
        wide = title.get_window_extent().width / figure.dpi > room
        lines = [*lines[:-1], longer] if not (wide and lines) else [*lines[:-1], f"{lines[-1]},", part]
    ax.set_title("\n".join(lines), loc="left")


def tidy(figure: Figure) -> None:
    """Set limits and ticks. Call it last."""
    for ax in figure.axes:
        if not ax.has_data() and ax.lines:  # only runs that are off the axes
            ax.relim()
        for axis in (ax.xaxis, ax.yaxis):
            (log_ticks if axis.get_scale() == "log" else linear_ticks)(axis)


def log_scale(ax: Axes, values: pd.Series, metric: str) -> bool:
    """Use a logarithmic y-axis for losses and errors, and for positive values of a wide range. Return whether it is."""
    known = values.astype(float)[np.isfinite(values.astype(float))]
    wide = len(known) > 0 and known.min() > 0 and known.max() > 30 * known.min()
    log = wide or (metric in METRICS and metric not in MORE_IS_BETTER and not (known < 0).any())
    if log and (known > 0).any():
        ax.set_yscale("log")
    return bool(log)


def seeds_in_words(finals: pd.DataFrame) -> str:
    """7 runs (5 done, 2 diverged), seeds 0–4"""
    named = finals["state"].replace(dict.fromkeys(("nonfinite", "diverging"), "diverged"))
    states = ", ".join(f"{count} {name}" for name, count in named.value_counts().items())
    seeds = finals["seed"].unique()
    return f"{many(len(finals), 'run')} ({states}), seed{'s' * (len(seeds) != 1)} {ranges(seeds, least=3)}"
