"""Upload the runs of a results folder to Weights & Biases.

Creates the W&B run of every run that has none or an outdated one, also of runs
made with tracker=none. Up-to-date runs are skipped. In offline mode, the runs
are written to <results>/wandb for `wandb sync` and `wandb leet`.

Examples:
  python bench/sync.py results
  python bench/sync.py results --project hearsay --entity my-team
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from rich.progress import track

from bench.base.account import ignored, mode, mode_of_environment, notices, notices_of_existing
from bench.base.errors import UserError
from bench.store.integrity import Damaged, read_file
from bench.store.leases import DEAD_S
from bench.store.regular import no_link, run_names
from bench.sweep.tracking.mark import others, place_of
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.parser import command_parser

LONGEST = 80
"""Characters of a name in a file of others that are shown."""
PATIENCE_S = DEAD_S + 5
"""Seconds to wait for uploads of other processes: the lease of a dead one ends meanwhile."""


@command
def main() -> int:
    parser = command_parser(__doc__)
    parser.add_argument(
        "results", type=Path, nargs="?", default=Path("results"), help="results folder (default: results)"
    )
    parser.add_argument("--project", help="W&B project of all runs (default: tracker.project of each run)")
    parser.add_argument("--entity", help="W&B user or team of all runs (default: tracker.entity of each run)")
    arguments = parser.parse_args()
    console = Console(soft_wrap=True)
    runs = arguments.results.resolve() / "runs"
    if not runs.exists():
        raise UserError(f"There are no runs in '{arguments.results}'.")
    if mode_of_environment() == "disabled":
        raise UserError("WANDB_MODE=disabled writes no W&B runs. Unset it, or set it to online or offline.")
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    for notice in notices(alone=False):
        console.print(notice)
    for name in ignored(alone=False):
        os.environ.pop(name, None)
    try:
        from bench.sweep.tracking.wandb_run import Busy, WandbMirror, up_to_date
    except ImportError as error:
        raise UserError(f"W&B cannot be imported: {error}. Type pip install wandb.") from error
    named = (runs / name for name in run_names(runs.parent))
    folders = [path for path in named if path.is_symlink() or _has_summary(path)]
    no_link(runs.parent / "wandb")
    asked = {"project": arguments.project, "entity": arguments.entity}
    todo = [path for path in folders if path.is_symlink() or not up_to_date(path, **asked)]
    unknown = sum(not place_of(path) for path in set(folders) - set(todo))
    if unknown and any(asked.values()):
        words = " and ".join(f"--{name}" for name, value in asked.items() if value)
        console.print(
            f"{words} {'are' if all(asked.values()) else 'is'} ignored for {unknown} "
            f"{'run' if unknown == 1 else 'runs'}: {'it is' if unknown == 1 else 'they are'} up to date in an unknown "
            "project. Delete wandb.json from a run folder to write its W&B run again."
        )
    online = mode() == "online"
    for who, count in others(set(folders) - set(todo)).items():
        verb = "uploaded" if online else "written"
        runs_of = f"{count} W&B {f'run was {verb}' if count == 1 else f'runs were {verb}'} by {who[:LONGEST]!r}"
        doubt = "hearsay cannot verify this" if online else "`wandb sync` would send any file that they name"
        console.print(
            f"According to wandb.json, {runs_of}; {doubt}. Delete wandb.json from a run folder to write its W&B run "
            "yourself."
        )
    why = "their W&B runs are up to date. Delete wandb.json from a run folder to write its W&B run again."
    for notice in notices_of_existing(len(folders) - len(todo), why, alone=False):
        console.print(notice)
    made, failed, busy = 0, 0, dict[Path, Busy]()

    def upload(folder: Path) -> None:
        nonlocal made, failed
        busy.pop(folder, None)
        try:
            if not folder.is_symlink() and up_to_date(folder, **asked):
                return  # by another process
            own = read_file(folder, "summary.json")
            project = arguments.project or own.get("tracker.project") or os.environ.get("WANDB_PROJECT") or "hearsay"
            entity = arguments.entity or own.get("tracker.entity") or os.environ.get("WANDB_ENTITY")
            WandbMirror(folder, project, entity).finish()
            made += 1
        except Busy as error:
            busy[folder] = error
        except Exception as error:  # network, server or disk: other runs may succeed
            failed += 1
            kind = "" if isinstance(error, Damaged) else f"{type(error).__name__}: "
            console.print(f"{folder.name}: {kind}{error}")

    for folder in track(todo, "runs", console=console, disable=not console.is_terminal):
        upload(folder)
    if busy:
        console.print(f"Waiting at most {PATIENCE_S:.0f} s for other processes that upload runs of this folder.")
    end = time.monotonic() + PATIENCE_S
    while busy and time.monotonic() < end:
        time.sleep(1)
        for folder in list(busy):
            upload(folder)
    for reason in busy.values():
        console.print(f"Skipped: {reason}. Repeat this command when it has ended.")
    done = len(folders) - made - failed - len(busy)
    skipped = f", {len(busy)} skipped" if busy else ""
    console.print(f"{made} written ({mode()}), {done} up to date, {failed} failed{skipped}.")
    return 1 if failed or busy else 0


def _has_summary(folder: Path) -> bool:
    """Whether a run has a summary, or may have one: this user may not be allowed to read the folder."""
    try:
        (folder / "summary.json").stat()
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


if __name__ == "__main__":
    sys.exit(main())
