"""Compute groups of runs in parallel. A failed run does not stop the others."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace

from bench.base import errors, preemption
from bench.base.errors import Misfit
from bench.base.preemption import Preempted
from bench.build.fingerprint import has_plugins
from bench.build.manifest import describe
from bench.engine.engines import engine_of
from bench.engine.pool import Pool
from bench.engine.rank_pool import Stopped
from bench.store import earlier
from bench.store.record import FINAL, Row
from bench.store.regular import is_missing
from bench.store.run_folder import settle
from bench.sweep.groups import name_of
from bench.sweep.recorder import Stored
from bench.sweep.resume import Run, conflict, damaged_checkpoints, resume_point, reusable, stale
from bench.sweep.tracking.tracker import Tracker
from bench.sweep.waiting import Group, Waiting
from bench.terminal.display import Display
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.observer import Observer

Member = tuple[Run, list[Row]]
"""A run of a group, and its rows so far."""


@dataclass(frozen=True)
class RunResult:
    """The result of a run in this sweep."""

    state: str
    error: str | None
    summary: Row  # the labels and latest metrics at the end; later, another process may change the run


class Executor:
    """Computes groups of runs with one or several parallel workers."""

    def __init__(
        self, display: Display, name: str | None = None, varies: Sequence[str] = (), order: str | None = None
    ) -> None:
        """``order``: the id of an order that several processes share. None waits for another, and none repeats a run
        that another has computed or that failed there."""
        self._order = order
        self.waiting = Waiting(pulls=order is not None)
        self.fates: dict[str, RunResult] = {}
        self.tracker = Tracker()
        self._name, self._varies = name, varies
        self.joined: list[Run] = []  # reused runs that are new in this sweep
        self.agents = False  # whether `wandb agent` waits for this run, reused or not
        self._display = display
        self._stop = threading.Event()

    def run(self, groups: Sequence[Group], jobs: int) -> None:
        self.waiting.add(groups)
        self._work(jobs)
        self.waiting.follow(lambda: self._work(jobs), self._display.say, self._failing)

    def reuse(self, folder: Run) -> bool:
        """Use a finished run; False if another process has begun to repeat it."""
        folder.tidy()
        summary = folder.summary()
        if (state := summary["state"]) not in FINAL:
            return False
        if folder.join(self._name) or self.agents:
            self.joined.append(folder)
            self.tracker.end(folder.path)
        old = f", with {reason}" if folder.config.stale == "keep" and (reason := stale(folder)) else ""
        self._end(folder, state, f"{state} before, by engine {folder.manifest().get('engine', '?')}{old}", summary)
        return True

    def _work(self, jobs: int) -> None:
        """Compute all waiting groups, in this thread or, if ``jobs`` > 1, in threads with ranks of their own."""
        if not self.waiting:
            return
        if jobs == 1:
            with closing(Pool()) as pool:
                self._serve(pool, in_process=True)
            return
        errors: list[BaseException] = []

        def worker() -> None:
            try:
                with closing(Pool(jobs, self._stop)) as pool:
                    self._serve(pool, in_process=False)
            except (Stopped, Preempted):
                pass
            except BaseException as error:
                errors.append(error)
                self._stop.set()

        threads = [threading.Thread(target=worker) for _ in range(min(jobs, len(self.waiting)))]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                time.sleep(0.1)
        finally:  # also when interrupted
            self._stop.set()
            for thread in threads:
                thread.join()
            self._stop.clear()
        if errors:
            raise errors[0]
        if preemption.requested():
            raise Preempted

    def _serve(self, pool: Pool, in_process: bool) -> None:
        while not self._stop.is_set() and (group := self.waiting.next()):
            self.run_group(group, pool, in_process)

    def run_group(self, group: Group, pool: Pool, in_process: bool) -> None:
        """Lock the free runs of a group, and compute those that start from the same step together."""
        mine, again = dict[int, list[Member]](), list[Run]()
        try:
            for folder in self.waiting.claim(group, self._failing):
                with self._failing(folder):
                    if not self._settled(folder):
                        step, rows = resume_point(folder) or (0, [])
                        mine.setdefault(step, []).append((folder, rows))
            for step, members in mine.items():
                again += self._run_together(step, members, pool, in_process)
        finally:
            for folder in group:
                folder.release()
        self.waiting.add([[folder] for folder in again])  # after the release: another thread may take them at once

    @contextmanager
    def _failing(self, folder: Run) -> Iterator[None]:
        """Mark a run as failed if its folder raises an OSError."""
        try:
            yield
        except OSError as error:
            self._fail(folder, errors.machine(error) or errors.unwritable(folder.path, error), folder.row_labels())

    def _settled(self, folder: Run) -> bool:
        """Whether another process has computed this run in the meantime, also with other source or data. The workers
        of an order try a failing run and a forced run once."""
        status = folder.status()
        if self._order in status.get("orders", []):
            folder.config = replace(folder.config, force=False)
        if reusable(folder) and self.reuse(folder):
            return True
        if error := conflict(folder):
            self._fail(folder, error, folder.row_labels())
        elif status.get("state") == "failed" and self._order in status.get("failed_in", []):
            error = errors.shortened(status.get("error") or "?")
            self._end(folder, "failed", "failed before, in another worker", folder.summary(), error)
        else:
            return False
        return True

    def _run_together(self, step: int, members: list[Member], pool: Pool, in_process: bool) -> list[Run]:
        """Compute a group, and return the runs to compute again, each alone."""
        folders = [folder for folder, _ in members]
        observer = Stored(folders, self._display, self.tracker)
        error, details, misfit, unsynced = "", "", False, set[int]()
        begun, again = list[Run](), list[Run]()
        how = {"replicas": len(members), "sweep": self._name, "varies": list(self._varies)}
        try:
            with errors.store_errors(folders[0].path):
                earlier.keep([folder.path for folder in folders if not step and folder.final])
            for folder, rows in members:
                facts = describe(folder.config, folder.manifest() if step else None)
                begun.append(folder)
                with errors.store_errors(folder.path):
                    facts |= {**how, "ranks": pool.ranks(folder.config)}
                    damage = folder.begin(facts, step, rows, damaged_checkpoints(folder))
                    checkpoint.forget_after(folder.checkpoints, step)
                if damage:
                    self._display.say(damage)
                self.tracker.begin(folder.path, live=len(members) == 1)
            self._display.begin(folders, name_of([folder.config for folder in folders]), folders[0].config.steps, step)
            self._compute(step, members, observer, pool, in_process)
        except (KeyboardInterrupt, Stopped, Preempted):
            self._interrupt(begun)
            raise
        except BaseException as reason:  # a method or dataset may raise anything, and the sweep continues
            if preemption.requested():  # SLURM ends all processes of a job: the run did not fail
                self._interrupt(begun)
                raise Preempted from reason
            error, misfit = errors.sentence(reason), isinstance(reason, Misfit)
            details = reason.details if isinstance(reason, errors.Failure) else traceback.format_exc()
        finally:
            self._display.leave(folders)
        try:
            settle([folders[r] for r in observer.outcomes])
        except OSError as reason:
            observer.outcomes, unsynced = {}, set(observer.outcomes)
            error, details = errors.unwritable(folders[0].path, reason), traceback.format_exc()
        for r, folder in enumerate(folders):
            if outcome := observer.outcomes.get(r):
                self._end(folder, outcome.state, f"{outcome.state} at step {outcome.step}", folder.summary())
            elif folder.lock.lost and is_missing(folder.lock.path.parent):
                raise errors.UserError(f"'{folder.path.parents[1]}' was moved or deleted while this command used it.")
            elif folder.lock.lost:
                self.waiting.lose([folder])
            elif len(folders) > 1 and r not in unsynced:
                again.append(folder)  # to find the run that fails
            elif misfit:
                self._display.say(f"{folder.path.name}: {error} It resumes from an earlier checkpoint or starts again.")
                checkpoint.forget(folder.checkpoints, step)
                again.append(folder)
            else:
                with suppress(OSError):  # if the folder is not writable, the table still shows the error
                    if folder in begun or not folder.final:  # else the finished run is as before
                        folder.fail(error, details)
                        self.tracker.end(folder.path)
                self._fail(folder, error, folder.summary())
        return again

    def _compute(self, step: int, members: list[Member], observer: Observer, pool: Pool, in_process: bool) -> None:
        """Compute a group on ranks, in a separate process or in this one, but plug-ins and parallel jobs never here."""
        configs = [folder.config for folder, _ in members]
        checkpoints = [folder.checkpoints for folder, _ in members]
        resume = Resume(step, checkpoints, [rows[-1] for _, rows in members]) if step else None
        engine = engine_of(configs[0])
        if engine.one_process and in_process and not any(map(has_plugins, configs)):
            engine.compute(configs, observer, resume, None)
        else:
            pool.run(configs, observer, resume, checkpoints)

    def _interrupt(self, begun: Sequence[Run]) -> None:
        for folder in begun:
            with suppress(OSError):  # on a full disk, the state stays running, without a lock
                if not folder.lock.lost and not folder.final:
                    folder.interrupt()
                    if len(begun) == 1:
                        self.tracker.end(folder.path)

    def _end(self, folder: Run, state: str, text: str, summary: Row, error: str | None = None) -> None:
        self.fates[folder.path.name] = RunResult(state, error, {**summary, "state": state})
        self._display.end(folder.path.name, state, text, folder.config.steps)

    def _fail(self, folder: Run, error: str, summary: Row) -> None:
        short = errors.shortened(error)
        self._end(folder, "failed", f"failed: {short}", summary, short)
