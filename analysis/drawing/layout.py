"""The layout options of make_figures.py, applied to a finished figure."""

import re
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from collections.abc import Sequence
from dataclasses import dataclass
from warnings import catch_warnings, simplefilter

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import FixedFormatter

from analysis.drawing.bands import KINDS
from analysis.drawing.panels import PLACES, ZERO, has_mark, letter_panel, move_legend
from analysis.drawing.style import COLUMN, PAGE
from analysis.results.errors import NoData

WIDTHS = {"column": COLUMN, "page": PAGE}
LARGEST = 50.0
"""The largest side of a figure, in inches."""

Limits = tuple[float | None, float | None]


@dataclass(frozen=True)
class Layout:
    """The layout options. None: the default of the figure."""

    xlim: Limits | None = None
    ylim: Limits | None = None
    logx: bool | None = None
    logy: bool | None = None
    size: tuple[float, float | None] | None = None  # width and, if given, height, in inches
    legend: str | None = None

    def given(self) -> list[str]:
        """Return the given options as they are typed."""
        return [f"--{'no-' * (value is False)}{name}" for name, value in vars(self).items() if value is not None]


def add_layout(parser: ArgumentParser) -> None:
    """Add the options of ``Layout`` and --band."""
    look = parser.add_argument_group("layout of the figures")
    for axis in "xy":
        ends = f"ends of the {axis} axis of every panel; 'LO,' or ',HI' sets one end (default: automatic)"
        look.add_argument(f"--{axis}lim", type=limits, metavar="LO,HI", help=ends)
    for axis in "xy":
        switch = BooleanOptionalAction
        look.add_argument(f"--log{axis}", action=switch, help=f"logarithmic or linear {axis} axis (default: automatic)")
    bars = "bands and error bars over the seeds: min to max, standard deviation, 95 %% confidence interval, or none"
    look.add_argument("--band", default="range", choices=KINDS, help=f"{bars} (default: range)")
    inches = "size in inches, or WIDTH alone; column and page are widths (default: column, or page for several columns)"
    look.add_argument("--size", type=size, metavar="WIDTH,HEIGHT", help=inches)
    place = "place of the legend (default: above, or below for more than 12 entries)"
    look.add_argument("--legend", choices=PLACES, help=place)


def joined(words: Sequence[str]) -> list[str]:
    """Join options with limits that begin with a minus sign: --ylim -1,1 becomes --ylim=-1,1."""
    text = "\0".join(words)
    return re.sub(r"(?<![^\0])(--[xy]lim)\0(?=-[\d.])", r"\1=", text).split("\0") if words else []


def limits(text: str) -> Limits:
    """Parse LO,HI. An empty end is None."""
    try:
        low, high = (float(word) if word else None for word in text.split(","))
    except ValueError:
        low = high = None
    ordered = low is None or high is None or low < high
    if (low is None and high is None) or not ordered or any(abs(end) == float("inf") for end in (low or 0, high or 0)):
        raise ArgumentTypeError(f"takes LO,HI with LO below HI, or 'LO,' or ',HI' for one end; got {text!r}")
    return low, high


def size(text: str) -> tuple[float, float | None]:
    """Parse WIDTH,HEIGHT or WIDTH in inches. ``column`` and ``page`` are widths."""
    try:
        width, *more = (WIDTHS.get(word) or float(word) for word in text.split(","))
        height = more[0] if more else None
        if len(more) > 1 or not all(0.5 <= side <= LARGEST for side in (width, *more)):
            raise ValueError
    except ValueError:
        sides = f"WIDTH,HEIGHT in inches, each from 0.5 to {LARGEST:g}"
        words = f"column ({COLUMN:g}) or page ({PAGE:g}) for a width"
        raise ArgumentTypeError(f"takes {sides}, or WIDTH alone; {words}; got {text!r}") from None
    return width, height


def arrange(figure: Figure, layout: Layout) -> list[str]:
    """Apply the layout, and return the options without an effect as they are typed."""
    shown = [ax for ax in figure.axes if ax.axison and ax.get_visible()]
    done: dict[str, int] = {}
    for name, log, ends in (("x", layout.logx, layout.xlim), ("y", layout.logy, layout.ylim)):
        if log is not None:
            done[f"--{'' if log else 'no-'}log{name}"] = sum(_scale(ax, name, log) for ax in shown)
        if ends:
            done[f"--{name}lim"] = sum(_limit(ax, name, *ends) for ax in shown)
            _check_limits(shown, name)
            _drop_outside(shown)
    if layout.size:
        figure.set_figwidth(layout.size[0])
        for ax in figure.axes:
            if title := ax.get_title(loc="left"):
                letter_panel(ax, title.replace(",\n", ", "))
    if layout.size or layout.legend:
        moved = move_legend(figure, layout.legend)
        done |= {"--legend": moved} if layout.legend else {}
        figure.set_figheight((layout.size and layout.size[1]) or figure.get_figheight())
        _check_room(figure)
    return [option for option, count in done.items() if not count]


def _axis(ax: Axes, name: str) -> Axis:
    return ax.xaxis if name == "x" else ax.yaxis


def _is_categorical(axis: Axis) -> bool:
    """Return whether the ticks of an axis are names, not numbers."""
    form = axis.get_major_formatter()
    return isinstance(form, FixedFormatter) and not all(word.replace(".", "").isdigit() for word in form.seq if word)


def _scale(ax: Axes, name: str, log: bool) -> bool:
    """Make an axis logarithmic or linear, and return whether that is possible."""
    axis = _axis(ax, name)
    if _is_categorical(axis) or (log and not axis.get_data_interval()[1] > 0):
        return False
    if log != (axis.get_scale() == "log"):
        scale = ax.set_xscale if name == "x" else ax.set_yscale
        scale("log", nonpositive="mask") if log else scale("linear")
        if name == "y" and has_mark(ax, ZERO):  # zeros are marked on the lower edge
            ax.set_ylim(bottom=None if log else 0)
    return True


def _limit(ax: Axes, name: str, low: float | None, high: float | None) -> bool:
    """Set the ends of an axis, and return whether that is possible. Ends of a logarithmic axis must be positive."""
    axis = _axis(ax, name)
    if axis.get_scale() == "log":
        low, high = (end if end is None or end > 0 else None for end in (low, high))
    if _is_categorical(axis) or (low is None and high is None):
        return False
    before = sorted(axis.get_view_interval())
    ax.set(**{f"{name}lim": (before[0] if low is None else low, before[1] if high is None else high)})
    return True


def _check_limits(shown: list[Axes], name: str) -> None:
    """Raise ``NoData`` if no panel has data between the limits."""
    axes = [_axis(ax, name) for ax in shown]
    spans = [(sorted(axis.get_view_interval()), sorted(axis.get_data_interval())) for axis in axes]
    if shown and not any(low <= most and high >= least for (low, high), (least, most) in spans):
        (low, high), (least, most) = spans[0]
        raise NoData(f"no data between {low:g} and {high:g}: the {name} values go from {least:g} to {most:g}")


def _drop_outside(shown: list[Axes]) -> None:
    """Remove marks outside the panels. Marks on the edge are not clipped, so Matplotlib would draw them."""
    for ax in shown:
        low, high = ax.bbox.get_points() + np.array([[-1], [1]])
        for line in [line for line in ax.lines if not line.get_clip_on()]:
            points = np.asarray(line.get_xydata())
            places = line.get_transform().transform(points)
            line.set_data(*points[((places >= low) & (places <= high)).all(axis=1)].T)
        for text in (text for text in ax.texts if isinstance(text, Annotation)):
            text.set_annotation_clip(True)


def _check_room(figure: Figure) -> None:
    with catch_warnings():
        simplefilter("error", UserWarning)
        try:
            figure.draw_without_rendering()
        except UserWarning:
            width, height = figure.get_size_inches()
            words = f"the panels do not fit into {width:g} × {height:g} inches"
            raise NoData(f"{words}; use a larger --size WIDTH,HEIGHT, or --legend none") from None
