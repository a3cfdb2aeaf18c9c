"""Run the board, which compares the costs of all methods on fixed problems.

run PHASE computes the runs of a phase that are not done: gate, pilot, dev,
tune, report, side or sealed. status shows what is done. score makes the tables
from the results. check tests a submission in board/submissions/NAME.
board/v1/rules.md has the rules.

Examples:
  python bench/board.py run tune --size quick
  python bench/board.py run tune --minutes 9 device=cuda
  python bench/board.py run report --piece 2/8 device=cuda results=board_results
  python bench/board.py status
  python bench/board.py score results
  python bench/board.py check example
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from bench.base import preemption
from bench.base.errors import UserError
from bench.base.home import ROOT
from bench.base.registry import say_broken_plugins
from bench.protocol.chosen import Chosen, read_chosen
from bench.protocol.phases import PHASES, Cell, cells, of_workloads
from bench.protocol.pieces import (
    check_words,
    composed,
    first_minutes,
    keep_time,
    measured_times,
    piece_of,
    valid,
)
from bench.protocol.progress import show_progress
from bench.protocol.read import BOARD, Board, read
from bench.protocol.submission import folder_of, read_submission
from bench.protocol.verify import pack, verify
from bench.sweep.sweep import run_sweep
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.parser import command_parser

NEEDS_CHOICE = ("report", "sealed")
"""Phases that run chosen settings, in a frozen version."""


def typed(words: Sequence[str], key: str, usual: str) -> str:
    """Return the value of a setting that the user typed, or the usual one."""
    return next((word.partition("=")[2] for word in words if word.partition("=")[0] == key), usual)


def board_of(given: argparse.Namespace) -> Board:
    """Return the protocol, with a submission alone if one is named."""
    if given.submission:
        return read_submission(given.submission, given.board).board()
    return read(given.board, given.size)


def settings_chosen(given: argparse.Namespace, board: Board, needed: bool) -> list[Chosen]:
    """Return the rows of chosen.csv; none if it does not exist and is not needed."""
    if given.submission:
        file = folder_of(given.submission, given.board) / "chosen.csv"
        return read_chosen(file) if needed or file.is_file() else []
    home = Path(typed(given.words, "results", "results")) if given.size == "quick" else board.folder
    file = Path(given.chosen) if given.chosen else home / "chosen.csv"
    return read_chosen(file) if needed or given.chosen or file.is_file() else []


def run(given: argparse.Namespace) -> int:
    """Compute the runs of a phase that are not done, and return the exit code."""
    check_words(given.words)
    board = board_of(given)
    found = cells(board, given.phase, settings_chosen(given, board, given.phase in NEEDS_CHOICE))
    found = of_workloads(found, given.workload)
    if given.piece:
        found = piece_of(board, found, *given.piece)
    console, errors = Console(width=None if sys.stdout.isatty() else 140), Console(stderr=True, soft_wrap=True)
    if given.phase in NEEDS_CHOICE and given.size == "full":
        console.print(f"Version: {board.version()}", soft_wrap=True)
    preemption.listen()
    if given.phase == "pilot":
        return pilot(given, found, console, errors)
    results, device = Path(typed(given.words, "results", "results")), typed(given.words, "device", "cpu")
    todo = first_minutes(board, composed(found, given.words), given.minutes, measured_times(results, device))
    todo = valid(todo, errors)
    if not todo:
        console.print(f"All runs of {given.phase} are done.")
        return 0
    return int(any(result.error is not None for result in run_sweep(todo, console, f"board {given.phase}")))


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
    check_words(given.words)
    submission = read_submission(given.name, given.board)
    console = Console(width=None if sys.stdout.isatty() else 140)
    if given.pack:
        console.print(f"{pack(submission, given.words)} runs: {submission.folder / 'runs.parquet'}", soft_wrap=True)
    else:
        verify(submission, given.words, console)
    return 0


def piece(text: str) -> tuple[int, int]:
    """Return K and N of 'K/N'."""
    one, slash, several = text.partition("/")
    if not (slash and one.isdecimal() and several.isdecimal() and 1 <= int(one) <= int(several)):
        raise UserError(f"--piece must be K/N with 1 ≤ K ≤ N, such as 2/8, got '{text}'.")
    return int(one), int(several)


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = command_parser(__doc__)
    parts = parser.add_subparsers(dest="part", required=True, metavar="run|status|score|check", help="what to do")
    version = argparse.ArgumentParser(add_help=False)
    version.add_argument("--board", type=Path, default=BOARD, metavar="FOLDER", help="version (default: board/v1)")
    size = argparse.ArgumentParser(add_help=False, parents=[version])
    size.add_argument("--size", choices=("full", "quick"), default="full", help="quick: 8 methods on 2 workloads")
    size.add_argument("--chosen", metavar="FILE", help="chosen settings (default: chosen.csv of the board)")
    size.add_argument(
        "--workload",
        type=lambda text: text.split(","),
        default=[],
        metavar="W,…",
        help="only these workloads, such as D1,T2",
    )
    size.add_argument("--submission", metavar="NAME", help="only the method of board/submissions/NAME")
    running = parts.add_parser("run", parents=[size], help="compute the runs of a phase")
    running.add_argument("phase", metavar="PHASE", choices=tuple(PHASES), help=", ".join(PHASES))
    limit = running.add_mutually_exclusive_group()
    limit.add_argument("--piece", metavar="K/N", help="the K-th of N parts of about equal time")
    limit.add_argument("--minutes", type=float, metavar="M", help="stop after about M minutes; repeat to go on")
    looking = parts.add_parser("status", parents=[size], help="show what is done, missing and failed")
    for each in (running, looking):
        each.add_argument("words", nargs="*", metavar="SETTING=VALUE", help="results, device, data_dir, …")
    scoring = parts.add_parser("score", help="make the tables: analysis/make_board.py score")
    scoring.add_argument("rest", nargs=argparse.REMAINDER, help="arguments of analysis/make_board.py score")
    checking = parts.add_parser("check", parents=[version], help="test a submission")
    checking.add_argument("name", metavar="NAME", help="folder in board/submissions")
    checking.add_argument("--pack", action="store_true", help="write its runs.parquet from a results folder")
    checking.add_argument("words", nargs="*", metavar="SETTING=VALUE", help="device, data_dir, …")
    given = parser.parse_args(argv)
    if getattr(given, "piece", None):
        given.piece = piece(given.piece)
    return given


@command
def main(argv: Sequence[str] | None = None) -> int:
    given = parsed(argv)
    if given.part == "score":
        return subprocess.run([sys.executable, ROOT / "analysis" / "make_board.py", "score", *given.rest]).returncode
    if given.part == "check":
        return check(given)
    say_broken_plugins()
    if given.part == "run":
        return run(given)
    board = board_of(given)
    show_progress(Console(), board, settings_chosen(given, board, False), given.words, given.size, given.workload)
    return 0


if __name__ == "__main__":
    sys.exit(main())
