"""The grid of settings: which values an entrant may try on a workload, and which of them are missing."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from itertools import product

import pandas as pd

from analysis.results.errors import NoData
from analysis.results.wording import many
from bench.base.board import REPORTING, TUNING, Board, Entrant, Workload


def belongs(
    board: Board, entrant: Entrant, workload: Workload, value: float | None, schedule: str | None, seed: int
) -> bool:
    """Return whether the grid has a setting. With report seeds, the schedule may be one that another workload chose."""
    tried = entrant.schedules or workload.schedules
    on_time = schedule is None or schedule in tried or seed in workload.seeds[REPORTING]
    return on_time and (entrant.stepsize is None or value in longest(board, entrant))


def longest(board: Board, entrant: Entrant) -> set[float]:
    """Return the grid of an entrant with all extensions, in the sequence …, 0.3, 1, 3, 10, …"""
    more = board.extension * board.extensions
    low, high = (round(2 * math.log10(end)) for end in (min(entrant.grid), max(entrant.grid)))
    return {*entrant.grid, *(float(f"{3 if k % 2 else 1}e{k // 2}") for k in range(low - more, high + more + 1))}


def check_complete(
    workloads: Iterable[Workload], table: pd.DataFrame, entrants: Iterable[Entrant], submission: str | None = None
) -> None:
    """Refuse a grid with missing runs; values that an entrant tried on one workload are due on the others too.

    An entrant without any run on a workload takes no part in it. A submission takes part in all.

    Raises:
        NoData: A run is missing. The message names it and the command that computes it.
    """
    some = list(workloads)
    parts = [table[(table["workload"] == one.name) & table["seed"].isin(one.seeds[TUNING])] for one in some]
    for entrant in entrants:
        each = {one.name: part[part["entrant"] == entrant.name] for one, part in zip(some, parts, strict=True)}
        values = [setting.get(entrant.stepsize) for part in each.values() for setting in part["values"]]
        tried = sorted({*entrant.grid, *values}) if entrant.stepsize else [None]
        for workload in some:
            here = each[workload.name]
            there = {
                (setting.get(entrant.stepsize), setting.get("schedule"), seed)
                for setting, seed in zip(here["values"], here["seed"], strict=True)
            }
            due = product(tried, entrant.schedules or workload.schedules, workload.seeds[TUNING])
            needed = there or entrant.name == submission
            if needed and (lacking := [one for one in due if one not in there]):
                value, schedule, seed = lacking[0]
                setting = f"{entrant.stepsize}={value:g} schedule={schedule}" if entrant.stepsize else schedule
                example = f"{entrant.name}, such as {setting} with seed {seed}"
                more = f" --submission {shlex.quote(submission)}" if submission and entrant.name == submission else ""
                raise NoData(
                    f"{workload.name} lacks {many(len(lacking), 'tuning run')} of {example}; "
                    f"type python bench/board.py run {workload.phase} --workload {workload.name}{more}"
                )
