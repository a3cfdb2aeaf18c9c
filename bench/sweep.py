"""Run a list of configurations, one folder each; what fails is marked and the rest goes on."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from contextlib import closing

from rich.console import Console

from bench import stacked
from bench.config import RunConfig
from bench.fingerprint import fingerprint
from bench.loop import Observer, Outcome
from bench.metrics import Row
from bench.pool import Pool, WorldFailed, default_ranks
from bench.registry import UserError
from bench.store import RunFolder
from bench.table import run_table


def run_all(configs: Sequence[RunConfig], console: Console) -> int:
    """Run what is not done yet, show the table of all, return the exit code."""
    folders = [RunFolder(config) for config in configs]
    with closing(Pool()) as pool:
        for number, folder in enumerate(folders, 1):
            head = f"[{number}/{len(folders)}] {folder.config.run_id}"
            if reusable(folder):
                console.print(f"{head}: {folder.status()['state']} before, by engine {folder.manifest()['engine']}")
                continue
            run_one(folder, pool)
            status = folder.status()
            console.print(f"{head}: {status['state']} at step {status['step']}")
    console.print()
    console.print(run_table([folder.summary() for folder in folders]))
    failures = [folder for folder in folders if folder.status()["state"] == "failed"]
    for folder in failures:
        sentence = f"{folder.config.run_id} failed: {folder.status()['error']}\n  see {folder.path / 'log.txt'}"
        console.print(sentence, markup=False, soft_wrap=True)
    console.print("Results:")
    for folder in folders:
        console.print(f"  {folder.path}", markup=False, soft_wrap=True)
    return 1 if failures else 0


def reusable(folder: RunFolder) -> bool:
    """Done or diverged before, by the same source, and not asked for again."""
    if folder.config.force or folder.status().get("state") not in ("done", "diverged"):
        return False
    return folder.manifest().get("fingerprint") == fingerprint(folder.config)


def run_one(folder: RunFolder, pool: Pool) -> None:
    """Run one configuration into its folder, whatever comes of it."""
    config = folder.config
    try:
        folder.begin(ranks=default_ranks(config) if config.engine.name == "mpi" else 1)
    except OSError as error:
        raise UserError(f"Cannot write to the results folder '{folder.path}': {error.strerror or error}.") from error
    try:
        outcome = run_on_engine(folder, pool)
        folder.finish(outcome.state, outcome.step)
    except KeyboardInterrupt:
        folder.interrupt()
        raise
    except UserError as error:
        folder.fail(str(error), "")
    except WorldFailed as error:
        folder.fail(str(error), error.details)
    except Exception as error:  # anything a method or dataset may raise; the sweep goes on
        folder.fail(f"{type(error).__name__}: {error}", traceback.format_exc())


def run_on_engine(folder: RunFolder, pool: Pool) -> Outcome:
    observer = Stored([folder])
    if folder.config.engine.name == "mpi":
        return pool.run(folder.config, observer)
    (outcome,) = stacked.run([folder.config], observer)
    return outcome


class Stored(Observer):
    """Everything a run tells goes to its folder."""

    def __init__(self, folders: Sequence[RunFolder]) -> None:
        self._folders = folders

    def learn(self, r: int, facts: Row) -> None:
        self._folders[r].learn(facts)

    def record(self, r: int, row: Row) -> None:
        self._folders[r].record(row)
