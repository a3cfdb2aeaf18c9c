"""Warm worlds of ranks for the runs of a sweep."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.base.errors import UserError
from bench.base.machine import PER_JOB, SHORTAGES, files_left, shortage
from bench.config.run_config import RunConfig
from bench.engine import shared_memory
from bench.engine.launch import launcher
from bench.engine.team import RunFailed, World
from bench.training.checkpoint import Resume
from bench.training.observer import Observer


def default_ranks(config: RunConfig, jobs: int = 1) -> int:
    """One rank per core, but no more than nodes; cores are shared between jobs."""
    return config.ranks or min(config.nodes, core_share(jobs))


def core_share(jobs: int) -> int:
    """Cores for one of the jobs that run side by side."""
    return max(1, cores() // jobs)


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Pool:
    """Warm worlds by engine and number of ranks; a failed one is replaced when next needed."""

    def __init__(self, jobs: int = 1, stop: threading.Event | None = None) -> None:
        """``jobs`` pools share this machine; a world ends its run when ``stop`` is set."""
        self._worlds: dict[tuple[str, int], World] = {}
        self._jobs, self._stop = jobs, stop or threading.Event()

    def run(
        self,
        configs: Sequence[RunConfig],
        observer: Observer,
        resume: Resume | None = None,
        checkpoints: Sequence[Path] = (),
    ) -> None:
        """One configuration on ranks, or a group of them in one process; checkpoints go to one folder each."""
        first = configs[0]
        mpi = first.engine.name == "mpi"
        options: dict[str, Any] = {"pool": True, **first.engine.options}
        key = first.engine.name, self.ranks(first)
        if key not in self._worlds:
            self._worlds[key] = self._start(key[1], options if mpi else None, observer)
        job = {
            "runs": [config.plain() for config in configs],
            "checkpoints": [str(folder) for folder in checkpoints],
            "resume": None if resume is None else {"step": resume.step, "rows": list(resume.rows)},
            "threads": core_share(self._jobs),
        }
        try:
            self._worlds[key].run(configs, job, observer, options["timeout_s"] * len(configs))
        except RunFailed:  # and nothing else
            raise
        except BaseException:
            self._worlds.pop(key).kill()
            raise
        if not options["pool"]:
            self._worlds.pop(key).stop()

    def _start(self, ranks: int, options: dict[str, Any] | None, observer: Observer) -> World:
        """A world of ranks, or of one process where there are no options to launch them by."""
        launch, host = (launcher(options["launch"]), options["host"]) if options else (None, "127.0.0.1")
        if files_left() < ranks + PER_JOB:
            raise UserError(f"{ranks} ranks cannot be started. {SHORTAGES[errno.EMFILE]}.")
        if not (options and options["launch"]):  # ranks that are launched otherwise may live elsewhere
            shared_memory.refuse_full(ranks)
        try:
            return World(ranks, launch, host, self._stop, observer)
        except OSError as error:
            reason = shortage(error) or f"Can they be reached at {host} (engine.host)? {error}."
            raise UserError(f"Ranks cannot be started. {reason}") from error

    def ranks(self, config: RunConfig) -> int:
        """How many processes a run of this configuration gets."""
        return default_ranks(config, self._jobs) if config.engine.name == "mpi" else 1

    def close(self) -> None:
        while self._worlds:
            self._worlds.popitem()[1].stop()
