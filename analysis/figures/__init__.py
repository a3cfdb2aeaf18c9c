"""One small file per figure: a function of the results, registered with its title and the command for its runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.drawing.panels import Picture
from analysis.drawing.style import Style
from analysis.results.plugins import add, everything
from analysis.results.results import Results
from analysis.study.ask import Ask, check_options

Draw = Callable[[Results, Ask], Picture]
Overlaid = Callable[[Axes, dict[str, Any], dict[str, Style], str, str], bool]


@dataclass(frozen=True)
class Drawing:
    name: str
    title: str
    command: str  # what makes its runs
    draw: Draw
    uses: Sequence[str] | None = None  # the options that it uses; None: nobody said

    def picture(self, results: Results, ask: Ask) -> Picture:
        """What it draws, if that is a picture: a stranger's function may forget to return it."""
        made = self.draw(results, ask)
        if not isinstance(made, Picture):
            raise TypeError(f"{self.draw.__name__} returned {made!r}, not a Picture")
        return made


FIGURES: dict[str, Drawing] = {}
ORDER = ("stepsize", "topology", "curves", "consensus", "profile")


def figure(name: str, title: str, command: str, uses: Sequence[str] | None = None) -> Callable[[Draw], Draw]:
    """Decorator that adds a figure: ``draw(results, ask)`` returns a Picture, or raises NoData with a sentence.

    Args:
        name: of its files, and for --figure.
        title: the first sentence of its caption.
        command: makes its runs.
        uses: the options of ``make_figures.py`` that it uses, of ``OPTIONS``; without it, nothing is said of the
            others.
    """

    def decorate(draw: Draw) -> Draw:
        add(FIGURES, "figure", name, Drawing(name, title, command, draw, check_options(uses)))
        return draw

    return decorate


@dataclass(frozen=True)
class Overlay:
    """Numbers from elsewhere, such as published ones, over the panels of ``stepsize`` and ``topology``."""

    draw: Overlaid
    entry: Line2D  # of the legend
    note: str


OVERLAYS: list[Overlay] = []


def overlay(entry: Line2D, note: str) -> Callable[[Overlaid], Overlaid]:
    """Decorator that adds an overlay: ``draw(ax, labels, styles, metric, option)`` draws on the panel of the problem
    with these labels, which shows this metric against this option, and returns whether it drew anything."""

    def decorate(draw: Overlaid) -> Overlaid:
        OVERLAYS.append(Overlay(draw, entry, note))
        return draw

    return decorate


def drawings() -> dict[str, Drawing]:
    """Every figure there is, plug-ins' last."""
    return everything(FIGURES, __name__, ORDER)
