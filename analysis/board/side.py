"""Side tables: a workload on another network, with entrants of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from analysis.board.cells import Curve, cells, curves
from analysis.board.choose import NATIVE, choose_tuned, graded
from analysis.board.clock import own_seconds
from analysis.board.grid import check_complete
from analysis.board.scores import reported, scored, standings
from analysis.board.scoring import CostOf
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
        """Return the standings of the report runs with tuned and native settings; None if there are none."""
        (name,) = self.board.workloads
        native = (chosen["ruleset"] == NATIVE) & chosen["method"].isin(list(self.board.everyone))
        runs = reported(self.board, self.table, chosen[(chosen["workload"] == name) | native])
        if runs.empty:
            return None
        if not self.timed:
            return standings(self.board, scored(self.board, runs, self.curves, self.frozen), ranked)
        board, spent = replace(self.board, prices={}), own_seconds(self.results, runs["run_id"])
        parts = [scored(board, runs, self.curves, self.frozen, {SECONDS: spent})]
        limit, courses, times = until_the_first_end(runs, self.curves, spent, self.board.workloads[name].budget)
        parts.append(scored(board, runs, courses, self.frozen, {f"{SECONDS}, to {limit:.3g} s": times.get}))
        return standings(board, pd.concat(parts, ignore_index=True), ranked)


def until_the_first_end(
    runs: pd.DataFrame, curves: Mapping[str, Curve], spent: CostOf, budget: float
) -> tuple[float, dict[str, Curve], dict[str, np.ndarray]]:
    """Return the time at which the first run ends, and the courses and times of all runs until then.

    Runs that wait for nobody have used their gradients earlier than those that wait. Until then, all have the same
    time, which stands for the budget: the gradients of a course are its part of this time.
    """
    times = {run: found for run in runs["run_id"] if (found := spent(run)) is not None}
    whole = set(runs["run_id"][~runs["diverged"]])
    limit = min((float(found[-1]) for run, found in times.items() if run in whole), default=np.inf)
    courses = {}
    for run, found in times.items():
        keep, curve = found <= limit * (1 + 1e-9), curves[run]
        times[run] = found[keep]
        part = budget * times[run] / limit
        courses[run] = Curve(part, curve.rounds[keep], curve.sent[keep], curve.losses[keep], curve.minimum)
    return limit, {**curves, **courses}, times
