"""Run the board, which compares the costs of all methods on fixed problems.

run PHASE computes the runs of a phase that are not done: gate, pilot, dev,
tune, hidden, report or sealed. status shows what is done. score makes the
tables from the results. check tests a submission in board/submissions/NAME.
board/v1/rules.md has the rules.

Examples:
  python bench/board.py run tune --size quick
  python bench/board.py run tune --minutes 9 device=cuda
  python bench/board.py run report --workload T1,T2 --done archive device=cuda
  python bench/board.py status
  python bench/board.py score results=board_results
  python bench/board.py check example
"""

from __future__ import annotations

import argparse
import math
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from bench.base import preemption
from bench.base.board import BOARD, Board
from bench.base.board_file import SIZES, read
from bench.base.errors import UserError
from bench.base.home import ROOT
from bench.base.registry import say_broken_plugins
from bench.config.compose import compose_one
from bench.sweep.protocol.chosen import Chosen, chosen_of_submission, read_chosen
from bench.sweep.protocol.phases import PHASES, Cell, cells, of_workloads
from bench.sweep.protocol.pieces import (
    archived_runs,
    check_words,
    composed,
    first_minutes,
    keep_time,
    measured_times,
    piece,
    piece_of,
    valid,
)
from bench.sweep.protocol.progress import show_progress
from bench.sweep.protocol.sealed import write_sealed
from bench.sweep.protocol.submission import folder_of, read_submission
from bench.sweep.protocol.verify import pack, verify
from bench.sweep.sweep import run_sweep
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.parser import command_parser

PARTS = ("run", "status", "score", "check")
NEEDS_SUBJECT = {"run": f"a phase: {', '.join(PHASES)}", "check": "the name of a submission"}
NEEDS_CHOICE = ("hidden", "report", "sealed")
"""Phases that run chosen settings."""
NEEDS_VERSION = ("report", "sealed")
"""Phases with report seeds, which run in a frozen version."""

USED = {
    "run": ("piece", "minutes", "done", "workload", "size", "submission", "chosen", "board"),
    "status": ("done", "workload", "size", "submission", "chosen", "board"),
    "score": ("size", "board"),
    "check": ("pack", "salt", "board"),
}
"""The options that have an effect on each part."""
NOT_USED = {"pilot": ("minutes", "done", "chosen")}
"""The options that have none on a phase."""


def typed(words: Sequence[str], key: str, usual: str) -> str:
    """Return the value of a setting that the user typed, as its runs have it, or the usual one."""
    mine = [word for word in words if word.partition("=")[0] == key]
    return str(getattr(compose_one(mine), key)) if mine else usual


def board_of(given: argparse.Namespace) -> Board:
    """Return the protocol, with a submission alone if one is named."""
    if given.submission:
        return read_submission(given.submission, given.board).board()
    return read(given.board, given.size)


def settings_chosen(given: argparse.Namespace, board: Board, needed: bool) -> list[Chosen]:
    """Return the rows of chosen.csv; none if it does not exist and is not needed."""
    if given.submission:
        file = folder_of(given.submission, given.board) / "chosen.csv"
        if needed:
            return chosen_of_submission(file, board)
        return read_chosen(file, inside=True) if file.is_file() else []
    home = Path(typed(given.words, "results", "results")) if given.size == "quick" else board.folder
    file = Path(given.chosen) if given.chosen else home / "chosen.csv"
    inside = given.size == "quick" and not given.chosen
    return read_chosen(file, inside) if needed or given.chosen or file.is_file() else []


def run(given: argparse.Namespace, board: Board) -> int:
    """Compute the runs of a phase that are not done, and return the exit code."""
    found = cells(board, given.subject, settings_chosen(given, board, given.subject in NEEDS_CHOICE))
    found = of_workloads(found, given.workload)
    console, errors = Console(width=None if sys.stdout.isatty() else 140), Console(stderr=True, soft_wrap=True)
    if given.piece and not (found := piece_of(board, found, *given.piece)):
        console.print(f"The piece {given.piece[0]}/{given.piece[1]} of {given.subject} has no runs.")
        return 0
    if given.subject in NEEDS_VERSION and board.size == "full":
        console.print(f"Version: {board.version()}", soft_wrap=True)
    if given.subject == "sealed":
        console.print(f"Written: {write_sealed(board)}", soft_wrap=True)
    preemption.listen()
    if given.subject == "pilot":
        return pilot(given, found, console, errors)
    results, device = Path(typed(given.words, "results", "results")), typed(given.words, "device", "cpu")
    times, archived = measured_times(results, device), archived_runs([*given.done, *board.archives])
    todo = valid(first_minutes(board, composed(found, given.words), given.minutes, times, archived), errors)
    if not todo:
        console.print(f"All runs of {given.subject} are done.")
        return 0
    return int(any(result.error is not None for result in run_sweep(todo, console, f"board {given.subject}")))


def pilot(given: argparse.Namespace, found: Sequence[Cell], console: Console, errors: Console) -> int:
    """Time the runs of each workload that has not been timed yet."""
    results, device = Path(typed(given.words, "results", "results")), typed(given.words, "device", "cpu")
    failed = False
    for name in dict.fromkeys(cell.workload.name for cell in found):
        mine = composed([cell for cell in found if cell.workload.name == name], given.words)
        todo = valid([run for one in mine for run in one.left()], errors)
        if len(todo) < sum(len(one.runs) for one in mine):
            continue
        begun = time.perf_counter()
        failed |= any(result.error is not None for result in run_sweep(todo, console, "board pilot"))
        elapsed = time.perf_counter() - begun
        each = 1000 * elapsed / sum(one.cell.gradients for one in mine)
        keep_time(results, device, name, each)
        console.print(f"{name}: {len(todo)} runs in {elapsed:.1f} s, {each:.4f} ms per run and gradient of each node")
    return int(failed)


def check(given: argparse.Namespace) -> int:
    """Test a submission, or write its runs.parquet."""
    submission = read_submission(given.subject, given.board)
    console = Console(width=None if sys.stdout.isatty() else 140)
    if given.pack:
        console.print(f"{pack(submission, given.words)} runs: {submission.folder / 'runs.parquet'}", soft_wrap=True)
    else:
        verify(submission, given.words, given.salt or secrets.token_hex(16), console)
    return 0


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line; the phase or the name stands before the settings."""
    parser = command_parser(__doc__)
    parser.add_argument("part", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    about = "phase to run, or name of the submission to check; then results, device, data_dir and the like"
    parser.add_argument("words", nargs="*", metavar="PHASE, NAME or SETTING=VALUE", help=about)
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--piece", metavar="K/N", help="run the K-th of N parts of about equal time")
    limit.add_argument("--minutes", type=float, metavar="M", help="run about M minutes; repeat the command to go on")
    about = "skip runs that this archive has; may be repeated"
    parser.add_argument("--done", type=Path, action="append", metavar="ARCHIVE", help=about)
    parser.add_argument("--workload", metavar="W,…", help="only these workloads, such as D1,T2")
    parser.add_argument("--size", choices=SIZES, help="quick: 8 methods on 2 workloads (default: full)")
    parser.add_argument("--submission", metavar="NAME", help="run only the method of board/submissions/NAME")
    about = "check: write runs.parquet from the results folder"
    parser.add_argument("--pack", action="store_true", default=None, help=about)
    about = "check: text that draws the cells to compute again (default: random)"
    parser.add_argument("--salt", metavar="TEXT", help=about)
    parser.add_argument("--chosen", metavar="FILE", help="chosen settings (default: chosen.csv of the version)")
    parser.add_argument("--board", type=Path, default=BOARD, metavar="FOLDER", help="version (default: board/v1)")
    given = parser.parse_intermixed_args(argv)
    given.subject = given.words.pop(0) if given.words and "=" not in given.words[0] else None
    if (given.subject is None) == (given.part in NEEDS_SUBJECT):
        what = NEEDS_SUBJECT.get(given.part)
        raise UserError(f"board.py {given.part} needs {what}." if what else f"'{given.subject}' is no setting.")
    check_words(given.words)
    check_used(given)
    given.piece = piece(given.piece) if given.piece else None
    given.workload = given.workload.split(",") if given.workload else []
    given.size, given.done = given.size or "full", given.done or []
    return given


def check_used(given: argparse.Namespace) -> None:
    """Reject options and settings that are empty or have no effect, and minutes that are no positive number."""
    used = [name for name in USED[given.part] if name not in NOT_USED.get(given.subject, ())]
    used = [name for name in used if not (given.submission and name in ("size", "chosen"))]  # it has its own
    used = [name for name in used if not (given.pack and name == "salt")]
    for name in dict.fromkeys(name for some in USED.values() for name in some):
        if getattr(given, name) == "":
            raise UserError(f"--{name} must not be empty. Give it a value, or remove it.")
        if getattr(given, name) is not None and name not in used:
            known = ", ".join(f"--{one}" for one in used)
            raise UserError(f"--{name} has no effect on this command, which uses {known}. Remove it.")
    if given.part == "score" and (words := [word for word in given.words if not word.startswith("results=")]):
        raise UserError(f"'{words[0]}' has no effect on board.py score, which uses results=FOLDER. Remove it.")
    if given.minutes is not None and not 0 < given.minutes < math.inf:
        raise UserError(f"--minutes must be a positive number, got {given.minutes:g}.")


def repeated(given: argparse.Namespace, phase: str) -> list[str]:
    """Return the options of the command for the runs of a phase: those of the status, and a limit of minutes."""
    usual = {"size": "full", "board": BOARD, "workload": [], "done": []}
    unused = NOT_USED.get(phase, ())
    out = [] if "minutes" in unused else ["--minutes", "9"]
    for name in (name for name in USED["status"] if name not in unused):
        if (value := getattr(given, name)) and value != usual.get(name):
            parts = value if name == "done" else [",".join(value) if name == "workload" else value]
            out += [word for part in parts for word in (f"--{name}", str(part))]
    return out


def score(given: argparse.Namespace) -> int:
    """Make the tables and the page, by a process of its own, since bench does not import analysis."""
    script = [sys.executable, str(ROOT / "analysis" / "make_board.py")]
    where = ["--board", str(given.board), "--size", given.size]
    if given.words:
        where += ["--results", typed(given.words, "results", "results")]
    codes = (subprocess.run([*script, part, *where]).returncode for part in ("score", "page"))
    return next((code for code in codes if code), 0)


@command
def main(argv: Sequence[str] | None = None) -> int:
    given = parsed(argv)
    if given.part == "score":
        return score(given)
    if given.part == "check":
        return check(given)
    board = board_of(given)  # before the registry is used, since a submission is a plug-in
    say_broken_plugins()
    if given.part == "run":
        return run(given, board)
    chosen, archived = settings_chosen(given, board, False), archived_runs([*given.done, *board.archives])
    show_progress(Console(), board, chosen, given.words, partial(repeated, given), given.workload, archived)
    return 0


if __name__ == "__main__":
    sys.exit(main())
