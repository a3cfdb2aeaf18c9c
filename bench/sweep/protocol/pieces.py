"""Compose the runs of the board, and divide them into pieces of limited time."""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bench.base import renamed
from bench.base.board import Board
from bench.base.errors import Refused, UserError
from bench.config.blocks import of_blocks
from bench.config.run_config import RunConfig
from bench.store.files import parsed, write_text
from bench.store.integrity import FACTS, MANIFESTS, ROWS, RUNS, unsealed
from bench.store.kinds import is_name
from bench.store.read_parquet import ARCHIVED, UNREADABLE, read_table
from bench.store.record import FINAL, cut_short
from bench.store.regular import TABLE, content_of
from bench.sweep.preflight import check
from bench.sweep.protocol.phases import Cell, seconds
from bench.sweep.resume import Run, reusable
from bench.terminal.console import Console
from bench.terminal.display import counting

PASSED_ON = ("results", "device", "data_dir", "jobs", "force", "stale", "engine.memory_gb")
"""Settings that a user may type: they do not change the numbers of a run."""
LOSS = "node_loss"
"""The scored loss. An archive with other metrics does not have the results of the board."""
TIMES = "board_times.json"
"""In the results folder: the milliseconds of a run per gradient, by device and workload."""


class Composed(NamedTuple):
    """A cell with its runs."""

    cell: Cell
    runs: list[RunConfig]

    def left(self, archived: Collection[str] = ()) -> list[RunConfig]:
        """Return the runs that are not done, or done by another version of the code; all with force=true.

        ``archived`` are the runs that an archive has.
        """
        return [run for run in self.runs if run.run_id not in archived and not reusable(Run(run))]


def archived_runs(archives: Sequence[Path]) -> set[str]:
    """Return the runs that have ended in these archives of analysis/archive.py, with all evaluations of their loss."""
    out: set[str] = set()
    for folder in archives:
        if not (file := folder / RUNS).is_file():
            raise UserError(f"'{folder}' is no archive: {file} is missing. Make one with analysis/archive.py.")
        try:
            content = {name: content_of(folder / name, TABLE) for name in (RUNS, ROWS)}
            unsealed(parsed(content_of(folder / FACTS, MANIFESTS).decode()), content)
            names = ["run_id", "state", "steps"]
            runs = read_table(content[RUNS], texts=True, columns=names).select(names).to_pylist()
            rows = read_table(content[ROWS], columns=("run", "step", LOSS), rows=ARCHIVED)
            if nameless := [run["run_id"] for run in runs if not is_name(run["run_id"])]:
                raise ValueError(f"{reprlib.repr(nameless[0])} is not a valid name of a run")
            for run, last, scored in zip(map(renamed.columns, runs), *_evaluated(rows, len(runs)), strict=True):
                # NaN may be a value of a nonfinite run
                known = scored or (last >= 0 and run["state"] == "nonfinite")
                if run["state"] in FINAL and known and not cut_short(run, last):
                    out.add(run["run_id"])
        except (*UNREADABLE, pa.ArrowException, AttributeError, RecursionError) as error:
            raise UserError(f"'{folder}' is no archive: {error}. Make one with analysis/archive.py.") from error
    return out


def _evaluated(rows: pa.Table, count: int) -> tuple[list[int], list[bool]]:
    """Return the last step of each run, −1 without evaluations, and whether it has values of the scored loss."""
    runs, steps = rows["run"].to_numpy(), rows["step"].to_numpy()
    if {runs.dtype.kind, steps.dtype.kind} != {"i"} or (len(runs) and not 0 <= runs.min() <= runs.max() < count):
        raise ValueError("the evaluations are invalid")
    last, scored = np.full(count, -1), np.full(count, False)
    last[runs] = steps  # sorted by step: the last value of a run counts
    if LOSS in rows.column_names:
        scored[runs[~rows[LOSS].is_null(nan_is_null=True).to_numpy()]] = True
    return last.tolist(), scored.tolist()


def check_words(words: Sequence[str]) -> None:
    """Reject settings that would change the protocol, and settings that are typed twice."""
    names = [word.partition("=")[0] for word in words]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"'{twice[0]}' is typed {names.count(twice[0])} times. Type it once.")
    for word in words:
        if word.partition("=")[0] not in PASSED_ON:
            raise UserError(f"The board fixes all settings, got '{word}'. You may type {', '.join(PASSED_ON)}.")


def composed(cells: Sequence[Cell], words: Sequence[str]) -> list[Composed]:
    """Return the cells with their runs. The runs are not checked against this machine."""
    check_words(words)
    with counting(Console(stderr=True, soft_wrap=True), "composing {} of {} cells") as say:
        blocks = [block for cell in cells for block in cell.blocks]
        runs = iter(of_blocks(blocks, words, "The board", say) if blocks else [])
        return [Composed(cell, [run for _ in cell.blocks for run in next(runs)]) for cell in cells]


def piece(text: str) -> tuple[int, int]:
    """Return K and N of 'K/N'."""
    one, slash, several = text.partition("/")
    if not (slash and one.isdecimal() and several.isdecimal() and 1 <= int(one) <= int(several)):
        raise UserError(f"--piece must be K/N with 1 ≤ K ≤ N, such as 2/8, got '{text}'.")
    return int(one), int(several)


def piece_of(board: Board, cells: Sequence[Cell], piece: int, pieces: int) -> list[Cell]:
    """Return the cells of one of several pieces that take about the same time. Every machine gets the same division."""
    times = [seconds(board, cell, {}) for cell in cells]
    total, before, out = sum(times), 0.0, []
    for cell, time in zip(cells, times, strict=True):
        if min(pieces - 1, int((before + time / 2) / total * pieces)) == piece - 1:
            out.append(cell)
        before += time
    return out


def first_minutes(
    board: Board,
    cells: Sequence[Composed],
    minutes: float | None,
    measured: dict[str, float],
    archived: Collection[str] = (),
) -> list[RunConfig]:
    """Return the runs left that take about so many minutes, at least one cell; None: all runs left."""
    out: list[RunConfig] = []
    spent = 0.0
    for one in cells:
        if not (left := one.left(archived)):
            continue
        spent += seconds(board, one.cell, measured) * len(left) / len(one.runs)
        if out and minutes is not None and spent > 60 * minutes:
            break
        out += left
    return list({run.run_id: run for run in out}.values())


def valid(runs: Sequence[RunConfig], errors: Console) -> list[RunConfig]:
    """Return the runs that the network allows; print why others are skipped."""
    out, skipped = [], Counter[str]()
    for run in runs:
        if reason := refusal(run):
            skipped[f"{run.algo.name} on {run.topology.name}: {reason}"] += 1
        else:
            out.append(run)
    for reason, times in skipped.items():
        errors.print(f"Skipping {times} run{'s' * (times > 1)}: {reason}", markup=False)
    return out


def refusal(run: RunConfig) -> str:
    """Return why the network does not allow a run, or nothing."""
    try:
        check(run)
    except Refused as error:
        return str(error)
    return ""


def measured_times(results: Path, device: str) -> dict[str, float]:
    """Return the milliseconds per gradient that the pilot measured on this kind of device."""
    return _times(results).get(device, {})


def keep_time(results: Path, device: str, workload: str, milliseconds: float) -> None:
    """Add a measured time to those of the results folder."""
    known = _times(results)
    known.setdefault(device, {})[workload] = milliseconds
    write_text(results / TIMES, json.dumps(known, indent=2, sort_keys=True) + "\n")


def _times(results: Path) -> dict[str, dict[str, float]]:
    """Return all measured times; UserError if the file has something else."""
    file = results / TIMES
    try:
        known = parsed(content_of(file).decode())
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        known = None
    devices = known.values() if isinstance(known, dict) else [None]
    if not all(isinstance(one, dict) and all(map(_is_time, one.values())) for one in devices):
        raise UserError(f"{file} has no times of the phase pilot. Delete it, and repeat bench/board.py run pilot.")
    out: dict[str, dict[str, float]] = known
    return out


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9
