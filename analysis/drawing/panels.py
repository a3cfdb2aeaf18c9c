"""What the figures share: panels, titles, legends and ticks that fit, whatever is in them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, ScalarFormatter

from analysis.drawing.style import COLUMN, CROWD, INK, PAGE, Style
from analysis.drawing.texts import tame
from analysis.results.labels import METRICS, MORE_IS_BETTER
from analysis.results.wording import many, ranges
from bench.store.record import FINAL

LINE = 0.2
"""Inches: a line of a legend, for which every figure has room."""
TALL, SMALL = 8, 6
"""Lines of a legend from which on it is set in a smaller size, in points."""
SIDE = 0.1
"""Inches that a legend keeps from the figure's sides."""


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
        self.notes = list(
            dict.fromkeys([*self.notes, *(note for mark, note in NOTES.items() if has(self.figure, mark))])
        )


def panels(
    rows: int, columns: int, height: float = 1.7, width: float | None = None, look: Collection[str] = (), **share: Any
) -> tuple[Figure, np.ndarray]:
    """A grid of axes, with despined frames: as wide as a column of a paper if it has one column, else as the page.
    Where a crowd is to be in it, ``look``, panels are taller, and the page is needed."""
    crowd = len(look) > CROWD
    width = width or (PAGE if columns > 1 or crowd else COLUMN)
    figure = Figure(figsize=(width, height * (1.8 if crowd else 1.0) * rows + 0.3), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **share)
    for ax in axes.flat:
        sns.despine(ax=ax)
    return figure, axes


def under(axes: np.ndarray, label: str) -> None:
    """The label and ticks of a shared x axis, at the lowest panel of each column that is seen."""
    for column in axes.T:
        lowest = [ax for ax in column if ax.get_visible()][-1]
        lowest.set_xlabel(label)
        lowest.tick_params(labelbottom=True)


ARROW = r"$\uparrow$"
NONFINITE, DIVERGING, ZERO = "_nonfinite", "_diverging", "_zero"
"""Labels of marks that stand for what has no place on the axes."""
MARKS = {
    NONFINITE: Line2D([], [], color=INK, ls="", marker="x", label="diverged"),
    DIVERGING: Line2D([], [], color=INK, ls="", marker=ARROW, ms=6, label="diverging (off the axis)"),
    ZERO: Line2D([], [], color=INK, ls="", marker="o", mfc="none", mew=0.7, label="0"),
}
NOTES = {
    DIVERGING: "runs that ended far above their start are marked at the upper edge; the axis is that of the others",
    ZERO: "a value of exactly 0 stands on the lower edge, hollow",
}


def has_mark(ax: Axes, mark: str) -> bool:
    return any(line.get_label() == mark for line in ax.lines)


def has(figure: Figure, mark: str) -> bool:
    return any(has_mark(ax, mark) for ax in figure.axes)


PLACES = {"above": "upper center", "below": "lower center", "right": "right upper", "inside": "", "none": ""}
"""Where a legend may stand, and what matplotlib calls it."""


def legend(figure: Figure, entries: Iterable[Line2D], more: Iterable[Line2D] = ()) -> None:
    """One legend for all panels, above them; that of a crowd stands below. Marks that are drawn are explained in it."""
    entries = [*entries, *(line for mark, line in MARKS.items() if has(figure, mark)), *more]
    if entries:
        _place_legend(figure, entries, "below" if len(entries) > CROWD else "above")


def move_legend(figure: Figure, place: str | None) -> bool:
    """Put the legend elsewhere, or where it was in the room that there is now; whether the figure has one."""
    if not figure.legends:
        return False
    old = figure.legends[0]
    entries = list(old.legend_handles)
    figure.set_figheight(figure.get_figheight() - _room(old, figure))
    old.remove()
    _place_legend(figure, entries, place or ("below" if len(entries) > CROWD else "above"))
    return True


def _place_legend(figure: Figure, entries: list[Any], place: str) -> None:
    """With as many columns as the figure is wide for, and room for its lines."""
    if place == "none":
        return
    FigureCanvasAgg(figure)  # to be measured
    look: dict[str, Any]
    if place == "inside":
        panel = next(ax for ax in figure.axes if ax.axison)
        for columns in range(1, 5):
            look = {"ncol": columns, "loc": "best", "frameon": True, "facecolor": "white", "edgecolor": "none"}
            made = panel.legend(handles=entries, fontsize=SMALL, **look)
            if made.get_window_extent().height < 0.9 * panel.get_window_extent().height:
                break
        return
    look = {"loc": f"outside {PLACES[place]}"}
    look |= {"borderaxespad": 1.0} if len(entries) > CROWD else {}
    if place == "right":
        made = figure.legend(handles=entries, fontsize=SMALL if len(entries) > CROWD else None, **look)
        tall = made.get_window_extent().height / figure.dpi + 2 * SIDE
        figure.set_figheight(max(figure.get_figheight(), tall))
        return
    tries: list[tuple[int, float | None]] = [(lines, None) for lines in range(1, min(len(entries), TALL) + 1)]
    tries += [(lines, SMALL) for lines in range(1, len(entries) + 1)]
    for lines, size in tries:
        columns = -(-len(entries) // lines)
        made = figure.legend(handles=entries, ncol=columns, fontsize=size, **look)
        tame(made)
        box = made.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
        if box.width <= figure.get_figwidth() - 2 * SIDE or columns == 1:
            break
        made.remove()
    if (over := box.width / (figure.get_figwidth() - 2 * SIDE)) > 1:  # one label alone is too long
        for text in made.get_texts():
            text.set_fontsize(float(text.get_fontsize()) / over)
    figure.set_figheight(figure.get_figheight() + _room(made, figure))


def _room(made: Legend, figure: Figure) -> float:
    """Inches by which a figure is higher for the lines of its legend."""
    return max(0.0, made.get_window_extent().height / figure.dpi - LINE - 0.06)


def legend_entry(style: Style, label: str | None = None, marker: bool = True) -> Line2D:
    look: dict[str, Any] = {"color": style.color, "ls": style.dash, "lw": style.width, "ms": style.size}
    return Line2D([], [], label=label or style.label, marker=style.marker if marker else "", **look)


def letter_panel(ax: Axes, text: str) -> None:
    """A title; one that would reach into the next panel takes several lines."""
    figure, place = ax.get_figure(root=True), ax.get_subplotspec()
    assert figure is not None
    assert place is not None
    FigureCanvasAgg(figure)  # to be measured
    room = figure.get_figwidth() / place.get_gridspec().ncols - 0.45
    lines: list[str] = []
    for part in text.split(", "):
        longer = f"{lines[-1]}, {part}" if lines else part
        tame(title := ax.set_title(longer, loc="left"))
        wide = title.get_window_extent().width / figure.dpi > room
        lines = [*lines[:-1], longer] if not (wide and lines) else [*lines[:-1], f"{lines[-1]},", part]
    ax.set_title("\n".join(lines), loc="left")


def tidy(figure: Figure) -> None:
    """Axes that show something, ticks that can be read. The last thing that is done to a figure."""
    for ax in figure.axes:
        if not ax.has_data() and ax.lines:  # nothing but what is off the axes
            ax.relim()
        for axis in (ax.xaxis, ax.yaxis):
            (log_ticks if axis.get_scale() == "log" else linear_ticks)(axis)


def log_scale(ax: Axes, values: pd.Series, metric: str) -> bool:
    """A logarithmic axis for what is positive and spans much; for losses and errors always. Whether it is one."""
    known = values.astype(float)[np.isfinite(values.astype(float))]
    wide = len(known) > 0 and known.min() > 0 and known.max() > 30 * known.min()
    log = wide or (metric in METRICS and metric not in MORE_IS_BETTER and not (known < 0).any())
    if log and (known > 0).any():
        ax.set_yscale("log")
    return bool(log)


def log_ticks(axis: Axis) -> None:
    """Plain numbers where the axis spans less than two decades, three to six of them: 0.3 0.5 1 2, not 3×10⁻¹."""
    low, high = sorted(axis.get_view_interval())
    if isinstance(axis.get_major_locator(), FixedLocator) or not (low > 0 and high / low < 100):
        return
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5), range(1, 10)):
        ticks = [digit * 10.0**power for power in powers for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if 3 <= len(ticks) <= 6:
            break
    else:
        ticks = [
            tick for tick in MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high) if low <= tick <= high
        ]
        axis.set_minor_locator(FixedLocator([]))
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
    axis.set_minor_formatter(NullFormatter())


def linear_ticks(axis: Axis) -> None:
    """No loose factor at the end of an axis: 2 G in the place of 2 under 1e9, and 2·10⁻⁶ where values are small."""
    most = max(map(abs, axis.get_view_interval()))
    if not isinstance(axis.get_major_formatter(), ScalarFormatter):
        return
    if most >= 1e6:
        axis.set_major_formatter(EngFormatter(sep="\N{NO-BREAK SPACE}"))
    elif 0 < most < 1e-4:
        power = int(np.floor(np.log10(most)))
        axis.set_major_formatter(lambda x, _: f"${x / 10.0**power:.6g}{{\\cdot}}10^{{{power}}}$" if x else "0")


def seeds_in_words(finals: pd.DataFrame) -> str:
    """7 runs (5 done, 2 diverged), seeds 0–4"""
    states = finals["state"].value_counts()
    states = ", ".join(f"{states[name]} {name}" for name in FINAL if name in states)
    seeds = finals["seed"].unique()
    return f"{many(len(finals), 'run')} ({states}), seed{'s' * (len(seeds) != 1)} {ranges(seeds, least=3)}"
