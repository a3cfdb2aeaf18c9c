"""Run a list of configurations, one folder each; what fails is marked and the rest goes on."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

from rich.console import Console

from bench import stacked
from bench.config import RunConfig
from bench.fingerprint import fingerprint
from bench.registry import UserError
from bench.store import RunFolder
from bench.table import run_table


def run_all(configs: Sequence[RunConfig], console: Console) -> int:
    """Run what is not done yet, show the table of all, return the exit code."""
    folders = [RunFolder(config) for config in configs]
    for number, folder in enumerate(folders, 1):
        head = f"[{number}/{len(folders)}] {folder.config.run_id}"
        if reusable(folder):
            console.print(f"{head}: {folder.status()['state']} before, by engine {folder.manifest()['engine']}")
            continue
        run_one(folder)
        status = folder.status()
        console.print(f"{head}: {status['state']} at step {status['step']}")
    console.print()
    console.print(run_table([folder.summary() for folder in folders]))
    failures = [folder for folder in folders if folder.status()["state"] == "failed"]
    for folder in failures:
        console.print(
            f"{folder.config.run_id} failed: {folder.status()['error']}\n  see {folder.path / 'log.txt'}", markup=False
        )
    console.print("Results:")
    for folder in folders:
        console.print(f"  {folder.path}", markup=False, soft_wrap=True)
    return 1 if failures else 0


def reusable(folder: RunFolder) -> bool:
    """Done or diverged before, by the same source, and not asked for again."""
    if folder.config.force or folder.status().get("state") not in ("done", "diverged"):
        return False
    return folder.manifest().get("fingerprint") == fingerprint(folder.config)


def run_one(folder: RunFolder) -> None:
    try:
        folder.begin()
    except OSError as error:
        raise UserError(f"Cannot write to the results folder '{folder.path}': {error.strerror or error}.") from error
    try:
        (outcome,) = stacked.run([folder.config], lambda _, row: folder.record(row))
        folder.finish(outcome.state, outcome.step)
    except KeyboardInterrupt:
        folder.interrupt()
        raise
    except Exception:  # anything a method or dataset may raise; the sweep goes on
        folder.fail(traceback.format_exc())
