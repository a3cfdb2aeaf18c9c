"""Compute the runs of a sweep. A failed run does not stop the others."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.base import errors
from bench.base.account import has_agent, notices, notices_of_existing
from bench.base.errors import UserError
from bench.config.run_config import RunConfig
from bench.store.earlier import EARLIER
from bench.store.integrity import RUNS
from bench.store.leases import DEAD_S
from bench.store.locks import untrusted
from bench.store.record import FINAL, Row
from bench.store.regular import make_folder
from bench.sweep.groups import batches, common_jobs
from bench.sweep.resume import Run, another, reusable, undecided
from bench.sweep.tracking.agent import reject_other_parameters
from bench.sweep.tracking.mark import elsewhere
from bench.sweep.tracking.tracker import Trackers, tracks
from bench.sweep.workers import Executor, RunResult
from bench.terminal.console import Console
from bench.terminal.display import Display
from bench.terminal.table import show_failures, show_mixed, show_table, varying


@dataclass(frozen=True)
class Result:
    """The result of one run of a sweep, computed now or earlier."""

    config: RunConfig
    folder: Run
    state: str
    error: str | None  # of a failed run
    summary: Row  # its labels and latest metrics

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def gone(self) -> bool:
        """Whether the run has ended and its folder was moved or deleted since."""
        return self.state in FINAL and not self.path.is_dir()

    def changed(self) -> str | None:
        """Return a sentence if another command has changed the run since it ended, or its folder is gone."""
        if self.gone:
            return f"The folder {self.path} is gone, so that the run must be repeated."
        same = self.state not in FINAL or self.folder.summary() == self.summary
        return None if same else f"Another command has changed {self.path.name} since."


def run_all(configs: Sequence[RunConfig], console: Console, name: str | None = None) -> int:
    """Call ``run_sweep`` and return the exit code of a command."""
    return int(any(result.error is not None or result.gone for result in run_sweep(configs, console, name)))


def run_sweep(configs: Sequence[RunConfig], console: Console, name: str | None = None) -> list[Result]:
    """Compute the runs that are not done, print the table, and return the results in the order of ``configs``.

    A search can call this repeatedly, since finished runs are reused. ``name`` is the name of the sweep.
    """
    common_jobs(configs)
    remarks, alone = about_wandb(configs), len(configs) == 1
    folders = [Run(config) for config in configs]
    reject_stale(folders)
    with Display(console, [config.steps for config in configs]) as display:
        made = Executor(display, name, varying([config.labels() for config in configs]))
        made.agents = has_agent()
        todo = []
        for remark in remarks:
            display.say(remark)
        for folder in folders:
            if not reusable(folder) or not made.reuse(folder):
                todo.append(folder)
        written = {folder.path for folder in (*todo, *made.joined)}
        for remark in about_done([folder for folder in folders if folder.path not in written], alone):
            display.say(remark)
        check_writable(todo)
        for where, reason in locks_not_trusted(todo).items():
            display.say(
                f"File locks in {where} do not work: {reason}. Leases replace them: other processes can take over the "
                f"run of a killed process after {DEAD_S:.0f} s."
            )
        if todo or made.joined:  # W&B also gets reused runs that are new in this sweep
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
    results = [Result(folder.config, folder, fate.state, fate.error, fate.summary) for folder, fate in fates]
    show_table(console, [result.summary for result in results])
    for result in results:
        if sentence := result.changed():
            console.print(f"{sentence} The table shows its earlier metrics.", markup=False, soft_wrap=True)
    show_mixed(console, [(run.config.algo.name, run.path) for run in results if run.state in FINAL and not run.gone])
    show_failures(console, [(result.path, result.error) for result in results if result.error is not None])
    unfinished = [result.path for result in results if result.state not in FINAL and not result.folder.final]
    show_earlier(console, [path for path in unfinished if (path / EARLIER).is_dir()])
    for place in dict.fromkeys(config.results for config in configs):
        console.print(f"Results: {Path(place) / 'runs'}", markup=False, soft_wrap=True)
    return results


def pull(
    groups: Sequence[Sequence[RunConfig]], jobs: int, console: Console, name: str, varies: Sequence[str], order: str
) -> list[RunResult]:
    """Compute runs of the ``order`` with this id until all are taken, and return the results of this worker."""
    folders = [[Run(config, order) for config in group] for group in groups]
    flat = [folder for group in folders for folder in group]
    check_writable(flat)
    with Display(console, [folder.config.steps for folder in flat]) as display:
        made = Executor(display, name, varies, order)
        if locks_not_trusted(flat):
            made.waiting.patience = 2 * DEAD_S  # the leases of dead workers end only after DEAD_S
        made.tracker = trackers_of(flat)
        try:
            made.run(folders, jobs)
        finally:
            made.tracker.close(lambda text: console.print(text, markup=False, soft_wrap=True))
    return list(made.fates.values())


def trackers_of(folders: Sequence[Run], alone: bool = False) -> Trackers:
    """Return the trackers of these runs; ``alone``: the command has one run."""
    configs = {folder.path: folder.config for folder in folders}
    asked = {path: (c.tracker.name, c.tracker.options, Path(c.results)) for path, c in configs.items()}
    return Trackers(asked, alone)


def about_wandb(configs: Sequence[RunConfig], elsewhere: bool = False) -> list[str]:
    """Return a notice for each ignored variable of W&B; ``elsewhere``: jobs compute the runs.

    Raises:
        UserError: `wandb agent` started a command that is not one run on this machine, or without its parameters.
    """
    if not any(tracks(config.tracker.name) for config in configs):
        return []
    if has_agent() and (elsewhere or len(configs) > 1):
        raise UserError(
            f"`wandb agent` starts one run at a time, and this command has {len(configs)}. "
            "Remove -m and experiment= from the command of the W&B sweep, or add tracker=none."
        )
    if has_agent():
        reject_other_parameters(configs[0])
    return notices(alone=len(configs) == 1 and not elsewhere)


def about_done(folders: Sequence[Run], alone: bool) -> list[str]:
    """Return notices about variables and settings of W&B without effect, since these runs were done before."""
    tracked = [folder for folder in folders if tracks(folder.config.tracker.name)]
    why = "done before, so their W&B runs are not written again. Add force=true to repeat the runs."
    return notices_of_existing(len(tracked), why, alone) + ([] if has_agent() else elsewhere(tracked))


def reject_stale(folders: Sequence[Run]) -> None:
    """Raise a UserError if a folder has another run, or finished runs are stale and ``stale`` is not set."""
    for error in filter(None, map(another, folders)):
        raise UserError(error)
    old = [(folder, reason) for folder in folders if (reason := undecided(folder))]
    if old:
        folder, reason = old[0]
        raise UserError(
            f"{len(old)} of {len(folders)} runs are done, but with {reason}, for example {folder.path.name}. "
            "Add stale=rerun to repeat them, or stale=keep to use them."
        )


def locks_not_trusted(todo: Sequence[Run]) -> dict[Path, str]:
    """Return the results folders in which locks do not work, with the reason."""
    places = {folder.lock.path.parent for folder in todo}
    for place in places:
        make_folder(place)
    return {place.parent: reason for place in places if (reason := untrusted(place))}


def show_earlier(console: Console, folders: Sequence[Path]) -> None:
    """Say where the results are that runs had before they were repeated."""
    if folders:
        runs = "the unfinished run" if len(folders) == 1 else f"{len(folders)} unfinished runs"
        more = "" if len(folders) == 1 else " and so on"
        text = f"The earlier results of {runs} are kept: {folders[0] / EARLIER}{more}"
        console.print(text, markup=False, soft_wrap=True)


def check_writable(todo: Sequence[Run]) -> None:
    """Raise one UserError if a results folder is an archive or not writable, instead of an error for each run."""
    try:
        for parent in {folder.path.parent for folder in todo}:
            if archive := next((one for one in (parent.parent, parent) if (one / RUNS).exists()), None):
                raise UserError(
                    f"'{archive}' is an archive of analysis/archive.py. Its runs would hide those of a sweep. Type "
                    "another folder, such as results=results."
                )
            make_folder(parent, parents=True)
            with tempfile.TemporaryFile(dir=parent):
                pass
    except OSError as error:
        raise UserError(errors.machine(error) or errors.unwritable(parent, error)) from error
