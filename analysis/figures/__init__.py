"""One small file per figure: TITLE, COMMAND, and draw(results, ask)."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from analysis.draw import Picture
from analysis.results import Results


@dataclass(frozen=True)
class Ask:
    """What can be asked of a figure."""

    x: str = "epoch"
    cost: str = "step"


@dataclass(frozen=True)
class Drawing:
    name: str
    title: str
    command: str  # what makes its runs
    draw: Callable[[Results, Ask], Picture]


ORDER = ("stepsize", "topology", "speedup", "spike", "curves", "graphs", "consensus", "scale", "profile")


def drawings() -> dict[str, Drawing]:
    """Every figure there is: the paper's first."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    names.sort(key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    return {name: Drawing(name, module.TITLE, module.COMMAND, module.draw) for name, module in modules.items()}
