"""Run a list of configurations, one folder each; what fails is marked and the rest goes on."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.base import errors
from bench.base.account import has_agent, notices, notices_of_existing
from bench.base.errors import UserError
from bench.config.run_config import RunConfig
from bench.store.leases import DEAD_S
from bench.store.locks import untrusted
from bench.store.record import FINAL, Row
from bench.store.regular import make_folder
from bench.sweep.groups import batches, common_jobs
from bench.sweep.resume import Run, reusable, stale
from bench.sweep.tracking.tracker import Trackers, tracks
from bench.sweep.workers import Executor, RunResult
from bench.terminal.console import Console
from bench.terminal.display import Display
from bench.terminal.table import show_failures, show_mixed, show_table, varying


@dataclass(frozen=True)
class Result:
    """What became of one configuration of a sweep: made now, or before."""

    config: RunConfig
    path: Path
    state: str
    error: str | None  # of one that failed
    summary: Row  # its labels, and where it has metrics the last of each


def run_all(configs: Sequence[RunConfig], console: Console, name: str | None = None) -> int:
    """``run_sweep`` for a command: the exit code."""
    return int(any(result.error is not None for result in run_sweep(configs, console, name)))


def run_sweep(configs: Sequence[RunConfig], console: Console, name: str | None = None) -> list[Result]:
    """Run what is not done yet, show the table of all, and hand it to who asked, in the order asked.

    The results folder is the memory of a search: what it asks for again is done. ``name`` is that of the sweep.
    """
    common_jobs(configs)
    remarks, alone = about_wandb(configs), len(configs) == 1
    folders = [Run(config) for config in configs]
    refuse_stale(folders)
    with Display(console, [config.steps for config in configs]) as display:
        made = Executor(display, name, varying([config.labels() for config in configs]))
        made.agents = has_agent()
        todo = []
        for remark in remarks:
            display.say(remark)
        for folder in folders:
            if reusable(folder):
                made.reuse(folder)
            else:
                todo.append(folder)
        written = {folder.path for folder in (*todo, *made.joined)}
        for remark in about_done([folder for folder in folders if folder.path not in written], alone):
            display.say(remark)
        check_writable(todo)
        for where, reason in locks_not_trusted(todo).items():
            display.say(
                f"Locks on files in {where} cannot be trusted: {reason}. Leases take their place: a run whose process "
                f"has died is free again after {DEAD_S:.0f} s."
            )
        if todo or made.joined:  # a run that only joins this sweep is news to W&B, too
            groups, jobs = batches([folder.config for folder in todo]) if todo else ([], 1)
            made.tracker = trackers_of([*todo, *made.joined], alone)
            for folder in made.joined:
                made.tracker.end(folder.path)
            try:
                made.run([[todo[place] for place in group] for group in groups], jobs)
            finally:
                made.tracker.close(lambda text: console.print(text, markup=False, soft_wrap=True))
    console.print()
    fates = [(folder, made.fates[folder.path.name]) for folder in folders]
    results = [
        Result(folder.config, folder.path, fate.state, fate.error, {**folder.summary(), "state": fate.state})
        for folder, fate in fates
    ]
    show_table(console, [result.summary for result in results])
    show_mixed(console, [(run.config.algo.name, run.path) for run in results if run.state in FINAL])
    show_failures(console, [(result.path, result.error) for result in results if result.error is not None])
    for place in dict.fromkeys(config.results for config in configs):
        console.print(f"Results: {Path(place) / 'runs'}", markup=False, soft_wrap=True)
    return results


def pull(
    groups: Sequence[Sequence[RunConfig]], jobs: int, console: Console, name: str, varies: Sequence[str], order: str
) -> list[RunResult]:
    """One worker's part of the ``order`` with this id: until nothing is left to claim. What became of the runs that are
    not another's."""
    folders = [[Run(config, order) for config in group] for group in groups]
    flat = [folder for group in folders for folder in group]
    check_writable(flat)
    with Display(console, [folder.config.steps for folder in flat]) as display:
        made = Executor(display, name, varies, order)
        if locks_not_trusted(flat):
            made.waiting.patience = 2 * DEAD_S  # a lease tells only after so long that its holder has died
        made.tracker = trackers_of(flat)
        try:
            made.run(folders, jobs)
        finally:
            made.tracker.close(lambda text: console.print(text, markup=False, soft_wrap=True))
    return list(made.fates.values())


def trackers_of(folders: Sequence[Run], alone: bool = False) -> Trackers:
    """Whom each of these runs is told to; ``alone``: the command has one run."""
    configs = {folder.path: folder.config for folder in folders}
    asked = {path: (c.tracker.name, c.tracker.options, Path(c.results)) for path, c in configs.items()}
    return Trackers(asked, alone)


def about_wandb(configs: Sequence[RunConfig], elsewhere: bool = False) -> list[str]:
    """A sentence for each variable of W&B that is ignored; ``elsewhere``: the runs are made by jobs.

    Raises:
        UserError: `wandb agent` gives one id to all that its command does, which must be one run, made here.
    """
    if not any(tracks(config.tracker.name) for config in configs):
        return []
    if has_agent() and (elsewhere or len(configs) > 1):
        raise UserError(
            f"`wandb agent` starts one run at a time, and this command has {len(configs)}. "
            "Remove -m and experiment= from the command of the W&B sweep, or add tracker=none."
        )
    return notices(alone=len(configs) == 1 and not elsewhere)


def about_done(folders: Sequence[Run], alone: bool) -> list[str]:
    """A sentence about the variables of W&B that have no effect, as these runs were done before."""
    count = sum(tracks(folder.config.tracker.name) for folder in folders)
    why = "done before, so their W&B runs are not written again. Add force=true to make the runs again."
    return notices_of_existing(count, why, alone)


def refuse_stale(folders: Sequence[Run]) -> None:
    """What another version of the source has made is neither used nor replaced unless the user says so."""
    asked = [folder for folder in folders if not folder.config.force and folder.config.stale is None]
    old = [(folder, reason) for folder in asked if folder.final and (reason := stale(folder))]
    if old:
        folder, reason = old[0]
        raise UserError(
            f"{len(old)} of {len(folders)} runs are done, but with {reason}, {folder.path.name} first. "
            "Choose: stale=rerun makes them anew, stale=keep uses them as they are."
        )


def locks_not_trusted(todo: Sequence[Run]) -> dict[Path, str]:
    """The folders of runs whose locks do not hold, and why."""
    places = {folder.lock.path.parent for folder in todo}
    for place in places:
        make_folder(place)
    return {place.parent: reason for place in places if (reason := untrusted(place))}


def check_writable(todo: Sequence[Run]) -> None:
    """If nothing can be written, that is said once and not of every run."""
    try:
        for parent in {folder.path.parent for folder in todo}:
            make_folder(parent, parents=True)
            with tempfile.TemporaryFile(dir=parent):
                pass
    except OSError as error:
        raise UserError(errors.machine(error) or errors.unwritable(parent, error)) from error
