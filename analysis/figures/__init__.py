"""One small file per figure: a function of the results, registered with its title and the command for its runs."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from analysis.drawing.panels import Picture
from analysis.results.plugins import load_plugins
from analysis.results.results import Results
from analysis.study.ask import Ask

Draw = Callable[[Results, Ask], Picture]


@dataclass(frozen=True)
class Drawing:
    name: str
    title: str
    command: str  # what makes its runs
    draw: Draw

    def picture(self, results: Results, ask: Ask) -> Picture:
        """What it draws, if that is a picture: a stranger's function may forget to return it."""
        made = self.draw(results, ask)
        if not isinstance(made, Picture):
            raise TypeError(f"{self.draw.__name__} returned {made!r}, not a Picture")
        return made


FIGURES: dict[str, Drawing] = {}
ORDER = ("stepsize", "topology", "speedup", "spike", "curves", "graphs", "consensus", "scale", "profile")


def figure(name: str, title: str, command: str) -> Callable[[Draw], Draw]:
    """Decorator that adds a figure: ``draw(results, ask)`` returns a Picture, or raises NoData with a sentence."""

    def decorate(draw: Draw) -> Draw:
        if name in FIGURES:
            raise ValueError(f"there is already a figure called {name!r}")
        FIGURES[name] = Drawing(name, title, command, draw)
        return draw

    return decorate


def drawings() -> dict[str, Drawing]:
    """Every figure there is: the paper's first, plug-ins' last."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    ours = sorted(FIGURES, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    load_plugins()
    return {name: FIGURES[name] for name in dict.fromkeys([*ours, *FIGURES])}
