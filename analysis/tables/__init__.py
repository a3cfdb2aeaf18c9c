"""One small file per table: TITLE, and make(results), a list of rows with notes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field

import pandas as pd

from analysis.results import Results


@dataclass
class Table:
    """``shown`` is for readers, ``data`` for programs; both have the same rows."""

    shown: pd.DataFrame
    data: pd.DataFrame
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Recipe:
    name: str
    title: str
    make: Callable[[Results], Table]


ORDER = ("methods", "final", "robustness", "variants", "configurations")


def recipes() -> dict[str, Recipe]:
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    names.sort(key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    return {name: Recipe(name, module.TITLE, module.make) for name, module in modules.items()}
