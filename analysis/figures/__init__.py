"""Registration of figures, and the built-in figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.drawing.panels import Picture
from analysis.drawing.style import Style
from analysis.results.lacking import lacking_metrics_named, runs_without
from analysis.results.plugins import add, everything
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions, check_options
from analysis.study.seeds import different_seeds

Draw = Callable[[Results, FigureOptions], Picture]
Overlaid = Callable[[Axes, dict[str, Any], dict[str, Style], str, str], bool]


@dataclass(frozen=True)
class Drawing:
    """A registered figure, with the arguments of ``figure``."""

    name: str
    title: str
    command: str
    draw: Draw
    uses: Sequence[str] | None = None
    along: Sequence[str] | None = ()

    def picture(self, results: Results, request: FigureOptions) -> Picture:
        """Draw the figure. Raise ``TypeError`` if the function returns no ``Picture``."""
        with lacking_metrics_named(results):
            made = self.draw(results, request)
        if not isinstance(made, Picture):
            raise TypeError(f"{self.draw.__name__} returned {made!r}, not a Picture")
        seeds = [] if self.along is None else different_seeds(results, made.runs, self.along)
        return replace(made, notes=[*made.notes, *seeds, *runs_without(results, made.runs, made.data)])


FIGURES: dict[str, Drawing] = {}
ORDER = ("stepsize", "topology", "curves", "consensus", "profile")


def figure(
    name: str, title: str, command: str, uses: Sequence[str] | None = None, along: Sequence[str] | None = ()
) -> Callable[[Draw], Draw]:
    """Register a function ``(results, request) -> Picture`` as a figure. It raises ``NoData`` without runs to draw.

    Args:
        name: The name of its files, and for ``--figure``.
        title: The first sentence of its caption.
        command: A command that makes its runs, for messages.
        uses: The options of ``make_figures.py`` that it uses, from ``OPTIONS``; others are reported as ignored. None:
            nothing is reported.
        along: The labels of problems, such as ``partition``, along which it compares results. Their options belong to
            them. A note names seeds that differ along them. None: the figure compares no results.

    Raises:
        ValueError: The name is already registered, or ``uses`` has an unknown option.

    Example:
        >>> @figure("losses", "Final losses", "python bench/run.py", uses=())
        ... def losses(results: Results, request: FigureOptions) -> Picture:
        ...     fig, axes = panels(1, 1)
        ...     axes[0, 0].hist(results.finals["train_loss"])
        ...     return Picture(fig, results.finals[["train_loss"]], set(results.finals["run_id"]))
    """

    def decorate(draw: Draw) -> Draw:
        add(FIGURES, "figure", name, Drawing(name, title, command, draw, check_options(uses), along))
        return draw

    return decorate


@dataclass(frozen=True)
class Overlay:
    """External numbers, such as published ones, on the panels of ``stepsize`` and ``topology``; see ``overlay``."""

    draw: Overlaid
    entry: Line2D
    note: str


OVERLAYS: list[Overlay] = []


def overlay(entry: Line2D, note: str) -> Callable[[Overlaid], Overlaid]:
    """Register a function that draws on one panel and returns whether it drew anything.

    Its arguments are the axes, the settings of the panel (dataset, topology, steps, …), the styles of the methods, the
    metric on the y-axis and the option on the x-axis.

    Args:
        entry: The entry of the legend.
        note: A sentence for the caption.

    Example:
        >>> @overlay(Line2D([], [], marker="o", ls="", label="published"), "markers: published runs")
        ... def published(ax, labels, styles, metric, option):
        ...     ax.plot([0.01], [0.9], "o")
        ...     return True
    """

    def decorate(draw: Overlaid) -> Overlaid:
        OVERLAYS.append(Overlay(draw, entry, note))
        return draw

    return decorate


def drawings() -> dict[str, Drawing]:
    """Return all figures by name, those of plug-ins last."""
    return everything(FIGURES, __name__, ORDER)
