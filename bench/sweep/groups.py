"""Which runs share a program, how many of them at once, and on how many processes.

Runs of engine=stacked that differ only in stepsizes, seed and graph are replicas of one tensor program.
The size of a group follows from the memory it may take; on a CPU, long sweeps are cut into as many
parts as there are cores, because a process per part is faster than threads inside one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from bench.base.machine import cores, locks_per_job
from bench.config.run_config import RunConfig
from bench.engine.engines import engine_of
from bench.sweep.memory import FIXED, budget, bytes_per_replica, run_seconds, sized
from bench.training.mixers import SPARSE_FROM

MOST = 500
"""Runs in a group at most: each holds a lock, and all jobs together may not open more files than the process may."""
WORTH_S = 30.0
"""Estimated seconds of one core from which starting processes pays."""


def program(config: RunConfig) -> str:
    """The same for runs that can be replicas of one program."""
    identity = config.plain(identity_only=True)
    del identity["seed"]
    for option in config.algorithm.stepsize_options():
        del identity["algo"][option]
    if config.nodes < SPARSE_FROM:
        identity["topology"] = config.mixing().period
    how = {"engine": config.engine.name, "device": config.device, "every": config.checkpoint_every}
    return json.dumps({**identity, **how}, sort_keys=True)


def batches(configs: Sequence[RunConfig]) -> tuple[list[list[int]], int]:
    """Groups of runs, by their places in ``configs``, and how many groups to run side by side."""
    together: dict[str, list[int]] = {}
    for place, config in enumerate(configs):
        together.setdefault(program(config) if engine_of(config).grouped else str(place), []).append(place)
    groups = [(configs[places[0]], places) for places in together.values()]
    problems = {id(first): sized(first) for first, _ in groups if engine_of(first).grouped}
    jobs = configs[0].jobs
    if jobs is None:
        on_cpu = [(first, places) for first, places in groups if engine_of(first).grouped and first.device == "cpu"]
        seconds = sum(len(places) * run_seconds(first, problems[id(first)]) for first, places in on_cpu)
        jobs = min(cores(), len(configs)) if len(on_cpu) == len(groups) and seconds > WORTH_S else 1
    out: list[list[int]] = []
    for first, places in groups:
        parts = 1
        if engine_of(first).grouped:
            problem = problems[id(first)]
            each = bytes_per_replica(first, problem) if problem else math.inf
            most = min(MOST, locks_per_job(jobs), (budget(first) / jobs - FIXED) // each)
            parts = math.ceil(len(places) / max(1, most))
            parts = min(len(places), math.ceil(parts / jobs) * jobs)
        out += [places[i * len(places) // parts : (i + 1) * len(places) // parts] for i in range(parts)]
    return out, min(jobs, len(out))
