"""One small file per table: a function of the results, registered with its title."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pandas as pd

from analysis.results.plugins import add, everything
from analysis.results.results import Results
from analysis.study.ask import Ask, check_options


@dataclass
class Table:
    """``shown`` is for readers, ``data`` for programs; both have the same rows."""

    shown: pd.DataFrame
    data: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    title: str | None = None  # where it is not about what the table is usually about
    asked: tuple[str, ...] = ()  # the columns that are printed, where not all are
    spare: tuple[str, ...] = ()  # those that a page too narrow for all can do without, the first to go first

    @property
    def printed(self) -> pd.DataFrame:
        return self.shown[list(self.asked)] if self.asked else self.shown


Make = Callable[[Results, Ask], Table]


@dataclass(frozen=True)
class TableMaker:
    name: str
    title: str
    make: Make
    uses: Sequence[str] | None = None  # the options that it uses beside --columns; None: nobody said

    def table(self, results: Results, ask: Ask) -> Table:
        """What it makes, if that is a table: a stranger's function may forget to return it."""
        made = self.make(results, ask)
        if not isinstance(made, Table):
            raise TypeError(f"{self.make.__name__} returned {made!r}, not a Table")
        return made

    @property
    def ours(self) -> bool:
        """Whether it is no plug-in's, whose columns may be about anything."""
        return self.make.__module__.startswith(f"{__name__}.")


TABLES: dict[str, TableMaker] = {}
ORDER = ("methods", "final", "robustness", "configurations")


def table(name: str, title: str, uses: Sequence[str] | None = None) -> Callable[[Make], Make]:
    """Decorator that adds a table: ``make(results, ask)`` returns a Table, or raises NoData with a sentence.

    ``uses`` are the options that it uses, as for a figure; --columns is applied to every table.
    """

    def decorate(make: Make) -> Make:
        add(TABLES, "table", name, TableMaker(name, title, make, check_options(uses)))
        return make

    return decorate


def table_makers() -> dict[str, TableMaker]:
    return everything(TABLES, __name__, ORDER)
