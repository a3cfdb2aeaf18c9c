"""Side tables: a workload on another network, with entrants of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from analysis.board.cells import Curve, cells, curves
from analysis.board.choose import choose_tuned, graded
from analysis.board.clock import own_seconds
from analysis.board.grid import check_complete
from analysis.board.scores import reported, scored, standings
from analysis.results.results import Results
from bench.base.board import Board

SECONDS = "seconds"
"""The price of a side table with a network of its own, such as that of asynchronous methods."""


@dataclass(frozen=True, eq=False)
class SideTable:
    """A side table.

    Attributes:
        results: The runs.
        board: The protocol whose only workload is that of the table.
        frozen: The targets of that workload.
    """

    results: Results
    board: Board
    frozen: pd.DataFrame

    @cached_property
    def table(self) -> pd.DataFrame:
        """The runs of the table."""
        return cells(self.results, self.board, self.board.workloads)

    @cached_property
    def curves(self) -> dict[str, Curve]:
        """The courses of the runs."""
        return curves(self.results, self.table, self.board.workloads)

    @cached_property
    def timed(self) -> bool:
        """Whether the cost is the time on the network of the runs, since asynchronous methods have no rounds."""
        return any("network" in workload.set for workload in self.board.workloads.values())

    def choice(self) -> list[dict[str, Any]]:
        """Return the tuned settings; none without runs."""
        if self.table.empty:
            return []
        cost_of = own_seconds(self.results, self.table["run_id"]) if self.timed else None
        some = self.board.workloads.values()
        check_complete(some, self.table, self.board.everyone.values())
        return choose_tuned(graded(self.board, some, self.table, self.curves, self.frozen, cost_of))

    def standings(self, chosen: pd.DataFrame, ranked: Callable[[str], bool]) -> pd.DataFrame | None:
        """Return the standings of the report runs; None if there are none."""
        (name,) = self.board.workloads
        runs = reported(self.board, self.table, chosen[chosen["workload"] == name])
        if runs.empty:
            return None
        board, times = self.board, {}
        if self.timed:
            board = replace(board, prices={})
            times = {SECONDS: own_seconds(self.results, runs["run_id"])}
        found = scored(board, runs, self.curves, self.frozen, times)
        return standings(board, found, ranked)
