"""Tables, one small file each, and their registration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pandas as pd

from analysis.results.lacking import lacking_metrics_named
from analysis.results.plugins import add, everything
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions, check_options


@dataclass
class Table:
    """A table, which a function under ``@table`` returns.

    Attributes:
        shown: The formatted cells, for readers.
        data: The numbers, for programs; the same rows as ``shown``.
        notes: Sentences below the table.
        title: The title, if it differs from the registered one.
        asked: The columns to print. Empty: all.
        spare: Columns that a narrow page may drop, the first one first.
    """

    shown: pd.DataFrame
    data: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    title: str | None = None
    asked: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()

    @property
    def printed(self) -> pd.DataFrame:
        """The columns to print."""
        return self.shown[list(self.asked)] if self.asked else self.shown


Make = Callable[[Results, FigureOptions], Table]


@dataclass(frozen=True)
class TableMaker:
    """A registered table, with the arguments of ``table``."""

    name: str
    title: str
    make: Make
    uses: Sequence[str] | None = None

    def table(self, results: Results, request: FigureOptions) -> Table:
        """Make the table; raise ``TypeError`` if the function returns no ``Table``."""
        with lacking_metrics_named(results):
            made = self.make(results, request)
        if not isinstance(made, Table):
            raise TypeError(f"{self.make.__name__} returned {made!r}, not a Table")
        return made

    @property
    def ours(self) -> bool:
        """Whether the table is one of the suite, not of a plug-in."""
        return self.make.__module__.startswith(f"{__name__}.")


TABLES: dict[str, TableMaker] = {}
ORDER = ("methods", "final", "robustness", "configurations")


def table(name: str, title: str, uses: Sequence[str] | None = None) -> Callable[[Make], Make]:
    """Register a table. A decorator for a function ``(results, request) -> Table``.

    The function raises ``NoData`` if there are no runs for it.

    Args:
        name: The name of its files, and for ``--figure``.
        title: Its title.
        uses: The options of ``make_figures.py`` that it uses, as for a figure. ``--columns`` applies to all tables.

    Raises:
        ValueError: The name is already registered, or ``uses`` has an unknown option.

    Example:
        >>> @table("losses", "Mean final losses", uses=())
        ... def losses(results: Results, request: FigureOptions) -> Table:
        ...     groups = results.finals.groupby("algo", as_index=False)["train_loss"]
        ...     means = groups.agg(lambda values: values.mean(skipna=False))  # no mean if a run diverged
        ...     return Table(shown=means, data=means)
    """

    def decorate(make: Make) -> Make:
        add(TABLES, "table", name, TableMaker(name, title, make, check_options(uses)))
        return make

    return decorate


def table_makers() -> dict[str, TableMaker]:
    """Return all tables by name, those of plug-ins last."""
    return everything(TABLES, __name__, ORDER)
