"""The frozen targets: the loss at the start and the reference of each workload (targets.csv)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from analysis.board.cells import PACK, Curve
from analysis.board.grid import check_complete
from analysis.board.scoring import Aims
from analysis.results.errors import NoData
from analysis.study.score import targets
from bench.base.board import TUNING, YARDSTICK, Board, Workload

MINIMUM, POOLED = "minimum", "pooled"
"""The rule of a reference: the known minimum of each seed's problem, or the best median final loss of the bounds."""


def freeze(
    board: Board, workloads: Iterable[Workload], table: pd.DataFrame, curves: Mapping[str, Curve]
) -> pd.DataFrame:
    """Return one row per workload: rule, reference method and setting, F_0, F_ref and the targets.

    A problem with a known minimum has another one for each seed. Its numbers here are those of the tuning seeds.

    Raises:
        NoData: A workload has no finished reference, or lacks runs of the grid of D-SGD or a reference.
    """
    rows, workloads = [], list(workloads)
    check_complete(workloads, table, [board.everyone[YARDSTICK]])
    for workload in workloads:
        mine = table[(table["workload"] == workload.name) & table["seed"].isin(workload.seeds[TUNING])]
        ours = mine[mine["entrant"] == YARDSTICK]
        if ours.empty:
            raise NoData(f"{workload.name} has no runs of {YARDSTICK} with the seeds {list(workload.seeds[TUNING])}")
        start = float(np.median([curves[run].losses[0] for run in ours["run_id"]]))
        if any(np.isfinite(curves[run].minimum) for run in ours["run_id"]):
            minimum = float(np.median([_minimum(run, curves) for run in ours["run_id"]]))
            rule, by, setting, reference = MINIMUM, "", "", minimum
        else:
            rule = POOLED
            by, setting, reference = _best_pooled(board, workload, mine, curves)
        if not reference < start:
            raise NoData(f"the references of {workload.name} end at {reference:g}, above the start {start:g}")
        numbers = {f"target_{k}": value for k, value in enumerate(targets(start, reference, board.targets), 1)}
        row = {"workload": workload.name, "rule": rule, "method": by, "setting": setting}
        rows.append({**row, "start": start, "reference": reference, **numbers})
    return pd.DataFrame(rows)


def _best_pooled(
    board: Board, workload: Workload, runs: pd.DataFrame, curves: Mapping[str, Curve]
) -> tuple[str, str, float]:
    """Return the entrant, the setting and the median final loss of the best reference; all seeds must be there."""
    names = [name for name, entrant in board.everyone.items() if entrant.reference]
    if absent := [name for name in names if name not in set(runs["entrant"])]:
        command = f"python bench/board.py run {workload.phase} --workload {workload.name}"
        raise NoData(f"{workload.name} has no tuning runs of the reference {absent[0]}; type {command}")
    check_complete([workload], runs, [board.everyone[name] for name in names])
    found = []
    for (name, setting), some in runs[runs["entrant"].isin(names)].groupby(["entrant", "setting"]):
        if set(some["seed"]) >= set(workload.seeds[TUNING]):
            ends = np.where(some["diverged"], np.inf, [curves[run].losses[-1] for run in some["run_id"]])
            found.append((float(np.median(np.where(np.isnan(ends), np.inf, ends))), str(name), str(setting)))
    if not found or not np.isfinite(min(found)[0]):
        wanted = ", ".join(names)
        seeds = [*workload.seeds[TUNING]]
        raise NoData(f"{workload.name} has no finished reference ({wanted}) with the seeds {seeds}")
    final, name, setting = min(found)
    return name, setting, final


def aims_of(row: Mapping[str, object], runs: pd.DataFrame, curves: Mapping[str, Curve]) -> Aims:
    """Return F_0 and F_ref of each seed of the runs of one workload.

    With a known minimum they are those of the seed's own problem, from the runs of D-SGD, so that no other entrant can
    change them. Else they are the frozen numbers.

    Raises:
        NoData: The minimum of a run of D-SGD is not known, although the rule needs it.
    """
    if row["rule"] == POOLED:
        return {int(seed): (float(str(row["start"])), float(str(row["reference"]))) for seed in runs["seed"].unique()}
    ours = runs[runs["entrant"] == YARDSTICK].drop_duplicates("seed")
    return {
        int(seed): (float(curves[run].losses[0]), _minimum(run, curves))
        for seed, run in zip(ours["seed"], ours["run_id"], strict=True)
    }


def _minimum(run: str, curves: Mapping[str, Curve]) -> float:
    """Return the known minimum of the problem of a run."""
    if not np.isfinite(minimum := curves[run].minimum):
        raise NoData(f"the run {run} has no suboptimality, which gives the minimum of its problem; {PACK}")
    return minimum
