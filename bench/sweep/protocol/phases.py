"""The runs of each phase of the board, as blocks of settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from bench.base.board import GATE, REPORTING, TUNING, YARDSTICK, Board, Entrant, Settings, Workload
from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.method import Properties
from bench.sweep.protocol.chosen import ALL, TUNED, Chosen, values_to_try
from bench.sweep.protocol.hidden import variants
from bench.sweep.protocol.sealed import sealed

PHASES = {
    "gate": "is the graph felt? tuned D-SGD on the graph and on the average of all nodes",
    "pilot": "how long does a run take?",
    "dev": "the grid on the development problems",
    "tune": "the grid on the workloads and the side tables, with the tuning seeds",
    "hidden": "the numbers of the papers times 3 and 1/3, at the tuned settings, with a tuning seed",
    "report": "the chosen settings on the workloads and the side tables, with the report seeds",
    "sealed": "untuned settings on the two problems drawn from the hash of the version",
}
OVERHEAD = 1.2
"""Evaluations and files take a fifth of the time of the steps."""


class Cell(NamedTuple):
    """The runs of one entrant on one workload."""

    phase: str
    workload: Workload
    entrant: Entrant
    blocks: list[Settings]

    @property
    def gradients(self) -> float:
        """The gradients per node of all runs together, up to those that are too few for one more step."""
        return self.runs * self.workload.budget

    @property
    def runs(self) -> int:
        return sum(map(runs_of, self.blocks))


def runs_of(block: Settings) -> int:
    """Return the number of runs of a block."""
    return math.prod(len(value) for value in block.values() if isinstance(value, list))


def cells(board: Board, phase: str, chosen: Sequence[Chosen] = ()) -> list[Cell]:
    """Return the cells of a phase; ``chosen`` are the settings of chosen.csv, if it exists."""
    if phase not in PHASES:
        raise UserError(f"There is no phase '{phase}'. Use one of {', '.join(PHASES)}.")
    made = list(MAKERS[phase](board, chosen))
    return [cell for cell in made if cell.blocks]


def of_workloads(found: Sequence[Cell], names: Sequence[str]) -> list[Cell]:
    """Return the cells of these workloads; without names, all. UserError if none has such a workload."""
    known = list(dict.fromkeys(cell.workload.name for cell in found))
    if strange := [name for name in names if name not in known]:
        raise UserError(f"There are no runs on a workload '{strange[0]}'. There are: {', '.join(known) or 'none'}.")
    return [cell for cell in found if not names or cell.workload.name in names]


def _gate(board: Board, chosen: Sequence[Chosen]) -> Iterator[Cell]:
    compared = (YARDSTICK, f"pooled_{YARDSTICK}")
    others = [one for one in board.everyone.values() if one.reference and one.name not in compared]
    felt = [board.everyone[name] for name in compared if name in board.everyone]
    yield from _grids(board, "gate", board.workloads.values(), felt, GATE, chosen)
    yield from _grids(board, "gate", board.workloads.values(), others, TUNING, chosen)  # for F_ref


def _pilot(board: Board, chosen: Sequence[Chosen]) -> Iterator[Cell]:
    some = [board.entrants[name] for name in board.pilot["entrants"] if name in board.entrants]
    for workload in (*board.workloads.values(), *board.dev.values()):
        short = replace(workload, budget=int(workload.budget * board.pilot["budget"]))
        yield from _grids(board, "pilot", [short], some, TUNING, ())


def _dev(board: Board, chosen: Sequence[Chosen]) -> Iterator[Cell]:
    return _grids(board, "dev", board.dev.values(), board.everyone.values(), TUNING, chosen)


def _tune(board: Board, chosen: Sequence[Chosen]) -> Iterator[Cell]:
    yield from _grids(board, "tune", board.workloads.values(), board.everyone.values(), TUNING, chosen)
    for side in board.side.values():
        here = _of(side.workload, chosen)
        yield from _grids(board, "tune", [side.workload], side.entrants.values(), TUNING, here)


def _hidden(board: Board, chosen: Sequence[Chosen]) -> Iterator[Cell]:
    for workload in (board.workloads[name] for name in board.hidden["workloads"]):
        for entrant in board.entrants.values():
            tuned = [row.values for row in chosen if row[:3] == (TUNED, workload.name, entrant.name)]
            blocks = [
                _block(board, workload, variant, values, board.hidden["seeds"])
                for values in tuned
                for variant in variants(board, entrant)
            ]
            yield Cell("hidden", workload, entrant, blocks)


def _report(board: Board, chosen: Sequence[Chosen]) -> Iterator[Cell]:
    for workload in board.workloads.values():
        for entrant in board.everyone.values():
            yield Cell("report", workload, entrant, _settled(board, workload, entrant, chosen))
    for side in board.side.values():
        here = _of(side.workload, chosen)
        for entrant in side.entrants.values():
            yield Cell("report", side.workload, entrant, _settled(board, side.workload, entrant, here))


def _sealed(board: Board, chosen: Sequence[Chosen]) -> Iterator[Cell]:
    for workload in sealed(board, board.version()).values():
        for entrant in board.everyone.values():
            yield Cell("sealed", workload, entrant, _settled(board, workload, entrant, chosen))


MAKERS = {
    "gate": _gate,
    "pilot": _pilot,
    "dev": _dev,
    "tune": _tune,
    "hidden": _hidden,
    "report": _report,
    "sealed": _sealed,
}


def _of(workload: Workload, chosen: Sequence[Chosen]) -> list[Chosen]:
    """Return the settings that were chosen on one workload."""
    return [row for row in chosen if row.workload == workload.name]


def _grids(
    board: Board,
    phase: str,
    workloads: Iterable[Workload],
    entrants: Iterable[Entrant],
    seeds: str,
    chosen: Sequence[Chosen],
) -> Iterator[Cell]:
    """Yield a cell with the whole grid for every workload and entrant."""
    some = list(entrants)
    for workload in workloads:
        for entrant in some:
            grid: Settings = {"algo.schedule": list(entrant.schedules or workload.schedules)}
            if entrant.stepsize is not None:
                grid[f"algo.{entrant.stepsize}"] = values_to_try(board, entrant, chosen)
            yield Cell(phase, workload, entrant, [_block(board, workload, entrant, grid, workload.seeds[seeds])])


def _settled(board: Board, workload: Workload, entrant: Entrant, chosen: Iterable[Chosen]) -> list[Settings]:
    """Return a block for each distinct setting that was chosen or is native, with the report seeds."""
    mine = [row.values for row in chosen if row.entrant == entrant.name and row.workload in (workload.name, ALL)]
    settings = [*mine, *([entrant.native] if entrant.native else [])]
    distinct = {repr(sorted(values.items(), key=str)): values for values in settings}
    return [_block(board, workload, entrant, values, workload.seeds[REPORTING]) for values in distinct.values()]


def _block(
    board: Board, workload: Workload, entrant: Entrant, options: Settings, seeds: Sequence[int]
) -> dict[str, Any]:
    """Return the block of one entrant on one workload with these options."""
    declared = declared_of(entrant)
    steps = max(1, (workload.budget - declared.start_samples) // declared.gradients)
    engine = {} if declared.asynchronous else {"engine": "stacked"}
    exact = {"dtype": "float64"} if declared.requires_float64 else {}
    return {
        **board.common,
        **engine,
        **workload.set,
        **exact,
        **entrant.set,
        "algo": entrant.method,
        **options,
        "steps": steps,
        "eval_every": max(1, steps // board.evaluations),
        "seed": list(seeds),
    }


def declared_of(entrant: Entrant) -> Properties:
    """Return what the method declares with the options of this entrant."""
    own = {key.removeprefix("algo."): value for key, value in entrant.set.items() if key.startswith("algo.")}
    declared: Properties = algorithms[entrant.method].declare_for(own)
    return declared


def seconds(board: Board, cell: Cell, measured: dict[str, float]) -> float:
    """Return the estimated seconds of a cell, from the pilot's milliseconds per gradient where it has been run."""
    name = cell.workload.name
    base = board.side[name].base if name in board.side else name
    known = {**board.milliseconds, **measured}
    return cell.gradients * known.get(base, known.get("D1", 1.0)) / 1000 * OVERHEAD
