"""Pools of ranks that stay warm between the runs of a sweep."""

from __future__ import annotations

import errno
import os
import platform
import threading
from collections.abc import Sequence
from pathlib import Path

from bench.base.errors import SHORTAGES, UserError, shortage
from bench.base.machine import PER_JOB, files_left
from bench.build.network import mixing_of
from bench.config.run_config import RunConfig
from bench.engine import shared_memory
from bench.engine.engines import Launch, engine_of
from bench.engine.rank_pool import RankPool, RunFailed
from bench.network import cache
from bench.training.checkpoint import Resume, start_of
from bench.training.observer import Observer


class Pool:
    """Warm rank pools by engine and number of ranks; a failed one is replaced when next needed."""

    def __init__(self, jobs: int = 1, stop: threading.Event | None = None) -> None:
        """``jobs``: pools that share this machine. ``stop``: an event that ends the current run when set."""
        self._rank_pools: dict[tuple[str, int], RankPool] = {}
        self._jobs, self._stop = jobs, stop or threading.Event()

    def run(
        self,
        configs: Sequence[RunConfig],
        observer: Observer,
        resume: Resume | None = None,
        checkpoints: Sequence[Path] = (),
    ) -> None:
        """Run one configuration on ranks, or a group in one process; ``checkpoints`` has a folder for each."""
        first = configs[0]
        engine, key = engine_of(first), (first.engine.name, self.ranks(first))
        if key not in self._rank_pools:
            self._rank_pools[key] = self._start(key[1], engine.launch_by(), observer)
        for config in configs:
            mixing_of(config)  # caches the slow computations, which the ranks receive as "known"
        job = {
            "runs": [config.plain() for config in configs],
            "runner": [os.getpid(), platform.node()],
            "checkpoints": [str(folder) for folder in checkpoints],
            "starts": [start_of(folder) for folder in checkpoints],
            "resume": None if resume is None else {"step": resume.step, "rows": list(resume.rows)},
            "threads": engine.threads(self._jobs),
            "known": cache.about(first.nodes),
        }
        try:
            self._rank_pools[key].run(configs, job, observer, engine.timeout_s * len(configs))
        except RunFailed:
            raise
        except BaseException:
            self._rank_pools.pop(key).kill()
            raise
        if not engine.stays:
            self._rank_pools.pop(key).stop()

    def _start(self, ranks: int, launch: Launch, observer: Observer) -> RankPool:
        problem = f"{SHORTAGES[errno.EMFILE]}." if files_left() < ranks + PER_JOB else ""
        if not launch.elsewhere:
            problem = problem or shared_memory.shortage(ranks, shared_memory.LEAST)
        if problem:
            raise UserError(f"Cannot start {ranks} ranks. {problem}")
        try:
            return RankPool(ranks, launch.words, launch.host, self._stop, observer)
        except OSError as error:
            reason = shortage(error) or f"Check that ranks can connect to {launch.host} (engine.host): {error}."
            raise UserError(f"Cannot start ranks. {reason}") from error

    def ranks(self, config: RunConfig) -> int:
        """Return the number of processes of a run with this configuration."""
        return engine_of(config).ranks(config, self._jobs)

    def close(self) -> None:
        while self._rank_pools:
            self._rank_pools.popitem()[1].stop()
