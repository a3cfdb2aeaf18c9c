"""Warm worlds of ranks for the runs of a sweep."""

from __future__ import annotations

import errno
import threading
from collections.abc import Sequence
from pathlib import Path

from bench.base.errors import SHORTAGES, UserError, shortage
from bench.base.machine import PER_JOB, files_left
from bench.build.network import mixing_of
from bench.config.run_config import RunConfig
from bench.engine import shared_memory
from bench.engine.engines import Launch, engine_of
from bench.engine.rank_pool import RankPool
from bench.engine.rank_processes import RunFailed
from bench.network import cache
from bench.training.checkpoint import Resume
from bench.training.observer import Observer


class Pool:
    """Warm worlds by engine and number of ranks; a failed one is replaced when next needed."""

    def __init__(self, jobs: int = 1, stop: threading.Event | None = None) -> None:
        """``jobs`` pools share this machine; a world ends its run when ``stop`` is set."""
        self._worlds: dict[tuple[str, int], RankPool] = {}
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
        engine, key = engine_of(first), (first.engine.name, self.ranks(first))
        if key not in self._worlds:
            self._worlds[key] = self._start(key[1], engine.launch_by(), observer)
        for config in configs:
            mixing_of(config)  # what takes long about it is computed here, once, and handed over
        job = {
            "runs": [config.plain() for config in configs],
            "checkpoints": [str(folder) for folder in checkpoints],
            "resume": None if resume is None else {"step": resume.step, "rows": list(resume.rows)},
            "threads": engine.threads(self._jobs),
            "known": cache.about(first.nodes),
        }
        try:
            self._worlds[key].run(configs, job, observer, engine.timeout_s * len(configs))
        except RunFailed:  # and nothing else
            raise
        except BaseException:
            self._worlds.pop(key).kill()
            raise
        if not engine.stays:
            self._worlds.pop(key).stop()

    def _start(self, ranks: int, launch: Launch, observer: Observer) -> RankPool:
        if files_left() < ranks + PER_JOB:
            raise UserError(f"{ranks} ranks cannot be started. {SHORTAGES[errno.EMFILE]}.")
        if not launch.elsewhere:
            shared_memory.refuse_full(ranks)
        try:
            return RankPool(ranks, launch.words, launch.host, self._stop, observer)
        except OSError as error:
            reason = shortage(error) or f"Can they be reached at {launch.host} (engine.host)? {error}."
            raise UserError(f"Ranks cannot be started. {reason}") from error

    def ranks(self, config: RunConfig) -> int:
        """How many processes a run of this configuration gets."""
        return engine_of(config).ranks(config, self._jobs)

    def close(self) -> None:
        while self._worlds:
            self._worlds.popitem()[1].stop()
