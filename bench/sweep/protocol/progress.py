"""What is done, missing and failed in each phase of the board, and the commands that are left."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from bench.base.board import FROZEN, Board
from bench.base.errors import UserError
from bench.config.run_config import RunConfig
from bench.store.record import FINAL
from bench.store.stored_run import StoredRun
from bench.sweep.protocol.chosen import Chosen
from bench.sweep.protocol.phases import PHASES, Cell, cells, of_workloads, seconds
from bench.sweep.protocol.pieces import check_words, composed, measured_times, refusal
from bench.terminal.console import Console
from bench.terminal.table import show_columns

PIECE_S = 540.0
"""Seconds of a piece."""


def show_progress(
    console: Console,
    board: Board,
    chosen: Sequence[Chosen],
    words: Sequence[str],
    options: Callable[[str], Sequence[str]],
    workloads: Sequence[str] = (),
    archived: Collection[str] = (),
) -> None:
    """Print a line per phase and workload, the entrants with failed runs, and the commands that are left.

    ``options`` are those that the command of a phase needs, such as --size quick.
    """
    check_words(words)
    frozen = (board.folder / FROZEN[-1]).is_file()
    console.print(f"Version: {board.version()}" if frozen else "Version: not frozen yet", soft_wrap=True)
    pairs = dict(word.split("=", 1) for word in words)
    measured = measured_times(Path(pairs.get("results", "results")), pairs.get("device", "cpu"))
    rows: dict[str, list[str]] = {name: [] for name in ("phase", "workload", "runs", "done", "failed", "left")}
    commands, failures = [], []
    together = composed(_all_cells(console, board, chosen, workloads), words)
    for phase in PHASES:
        left_s = 0.0
        for name in dict.fromkeys(one.cell.workload.name for one in together if one.cell.phase == phase):
            mine = [one for one in together if (one.cell.phase, one.cell.workload.name) == (phase, name)]
            states: Counter[str] = Counter()
            left = 0.0
            for one in mine:
                here = Counter(state for run in one.runs if (state := _state(run, archived)))
                done = sum(here[state] for state in FINAL)
                left += seconds(board, one.cell, measured) * (here.total() - done) / len(one.runs)
                if here["failed"]:
                    failures.append(f"{phase} {name} {one.cell.entrant.name}: {here['failed']} failed")
                states += here
            total, done = states.total(), sum(states[state] for state in FINAL)
            left_s += left
            shown = (phase, name, total, done, states["failed"], f"{left / 60:.1f} min" if done < total else "")
            for column, value in zip(rows.values(), shown, strict=True):
                column.append(str(value))
        if left_s:
            times = math.ceil(left_s / PIECE_S)
            typed = shlex.join([*options(phase), *words])
            often = f"   # {times} times" if times > 1 else ""
            commands.append(f"python bench/board.py run {phase} {typed}".rstrip() + often)
    show_columns(console, rows, ())
    if not measured:
        console.print("The minutes are those of one H200. The phase pilot measures this machine.", soft_wrap=True)
    for line in (*failures, *commands):
        console.print(line, markup=False, soft_wrap=True, highlight=False)


def _state(run: RunConfig, archived: Collection[str]) -> str:
    """Return the state of a run; none if the network does not allow it."""
    state = "done" if run.run_id in archived else StoredRun(run).state
    return state if state in FINAL or not refusal(run) else ""


def _all_cells(console: Console, board: Board, chosen: Sequence[Chosen], workloads: Sequence[str]) -> list[Cell]:
    """Return the cells of all phases; those of the sealed workloads only in a frozen version."""
    out = []
    for phase in PHASES:
        try:
            out += cells(board, phase, chosen)
        except UserError as error:
            console.print(f"{phase}: {error}", markup=False, soft_wrap=True)
    return of_workloads(out, workloads)
