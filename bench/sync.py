"""Bring Weights & Biases up to date with a results folder: python bench/sync.py results

Makes the W&B run of every run that has none or an old one, also of runs made with tracker=none; what is up to
date is left alone. Offline runs go to <results>/wandb, where `wandb sync` and `wandb leet` find them.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from rich.progress import track

from bench.base.account import ignored, mode, mode_of_environment, notices
from bench.base.errors import UserError
from bench.store.integrity import Damaged, read_file
from bench.store.regular import no_link, run_names
from bench.terminal.command import command
from bench.terminal.console import Console


@command
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", default=Path("results"), help="the results folder")
    parser.add_argument("--project", help="instead of each run's own (tracker.project)")
    parser.add_argument("--entity", help="instead of each run's own (tracker.entity)")
    arguments = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    runs = arguments.results.resolve() / "runs"
    if not runs.exists():
        raise UserError(f"There are no runs in '{arguments.results}'.")
    if mode_of_environment() == "disabled":
        raise UserError("WANDB_MODE=disabled writes no W&B runs. Unset it, or set it to online or offline.")
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    for notice in notices(alone=False):
        console.print(notice, markup=False)
    for name in ignored(alone=False):
        os.environ.pop(name, None)
    try:
        from bench.sweep.tracking.wandb_run import Mirror, up_to_date
    except ImportError as error:
        raise UserError(f"W&B cannot be used here: {error}. pip install wandb") from error
    named = (runs / name for name in run_names(runs.parent))
    folders = [path for path in named if path.is_symlink() or (path / "summary.json").exists()]
    no_link(runs.parent / "wandb")
    todo = [path for path in folders if path.is_symlink() or not up_to_date(path)]
    failed = 0
    for folder in track(todo, "runs", console=console, disable=not console.is_terminal):
        try:
            own = read_file(folder, "summary.json")
            given = os.environ.get
            project = arguments.project or own.get("tracker.project") or given("WANDB_PROJECT") or "hearsay"
            Mirror(folder, project, arguments.entity or own.get("tracker.entity") or given("WANDB_ENTITY")).finish()
        except Damaged as error:
            failed += 1
            console.print(f"{folder.name}: {error}", markup=False)
        except Exception as error:  # the network, the server, the disk: the next run may do better
            failed += 1
            console.print(f"{folder.name}: {type(error).__name__}: {error}", markup=False)
    made = len(todo) - failed
    console.print(f"{made} written ({mode()}), {len(folders) - len(todo)} up to date, {failed} failed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
