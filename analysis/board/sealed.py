"""The sealed workloads: problems that nobody saw before, with untuned settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from analysis.board.cells import cells, curves
from analysis.board.choose import DEV, TUNED
from analysis.board.scores import reported, scored, standings
from analysis.board.targets import MINIMUM
from analysis.results.results import Results
from bench.base.board import YARDSTICK, Board


class Sealed(NamedTuple):
    """The standings on the sealed workloads, and a note on their targets."""

    standings: pd.DataFrame
    note: str


def sealed(results: Results, board: Board, chosen: pd.DataFrame, ranked: Callable[[str], bool]) -> Sealed | None:
    """Return the standings on the sealed workloads of a board, relative to D-SGD's development setting."""
    table = cells(results, board, board.workloads)
    runs = reported(board, table, chosen[chosen["ruleset"] != TUNED])
    if runs.empty:
        return None
    courses = curves(results, runs.drop_duplicates("run_id"), board.workloads)
    frozen = pd.DataFrame({"workload": list(board.workloads), "rule": MINIMUM})
    found = scored(board, runs, courses, frozen, against=DEV)
    return Sealed(standings(board, found, ranked), " ".join(_early(found)))


def _early(found: pd.DataFrame) -> list[str]:
    """Return sentences on the workloads whose runs end below the reference."""
    ours = found[(found["entrant"] == YARDSTICK) & (found["ruleset"] == DEV)].drop_duplicates("run_id")
    ends = ours.groupby("workload")["final"].median()
    return [
        f"On {name}, runs end below the reference: it is no minimum, since the runs fit the noise of the data. D-SGD "
        f"ends {-value:.2f} of F₀ − F_ref below it. The targets of {name} cover the beginning of a run only."
        for name, value in ends.items()
        if value < 0
    ]
