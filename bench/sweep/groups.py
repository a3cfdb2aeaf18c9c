"""Which runs share a program, how many of them at once, and on how many processes.

Runs of engine=stacked that differ only in stepsizes, seed and graph are replicas of one tensor program.
The size of a group follows from the memory it may take; on a CPU, long sweeps are cut into as many
parts as there are cores, because a process per part is faster than threads inside one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import NamedTuple

from bench.base.errors import UserError
from bench.base.machine import cores, locks_per_job
from bench.build.network import method_of, mixing_of
from bench.config.run_config import RunConfig
from bench.engine.engines import engine_of
from bench.sweep.memory import FIXED, budget, sized
from bench.training.mixers import SPARSE_FROM

MOST = 500
"""Runs in a group at most: each holds a lock, and all jobs together may not open more files than the process may."""
WORTH_S = 30.0
"""Estimated seconds of one core from which starting processes pays."""


def program(config: RunConfig) -> str:
    """The same for runs that can be replicas of one program."""
    identity = config.plain(identity_only=True)
    del identity["seed"]
    for option in method_of(config).number_options():
        identity["algo"].pop(option, None)
    network = mixing_of(config)
    if network.changing and not network.one_way:
        identity["topology"] = "changing"
        identity.pop("links", None)
    elif config.nodes < SPARSE_FROM and not network.one_way:
        identity["topology"] = network.period
    how = {
        "engine": [config.engine.name, config.engine.options],
        "device": config.device,
        "every": config.checkpoint_every,
    }
    return json.dumps({**identity, **how}, sort_keys=True)


def common_jobs(configs: Sequence[RunConfig]) -> int | None:
    """How many groups are to be made side by side: one number for all of them."""
    asked = list(dict.fromkeys(config.jobs for config in configs))
    if len(asked) > 1:
        said = " and ".join(f"jobs={'null' if jobs is None else jobs}" for jobs in asked)
        raise UserError(f"jobs is for a sweep as a whole, and its runs ask for {said}: give one value.")
    return asked[0]


class Share(NamedTuple):
    """Who makes them: so many workers, each with so many cores and so much memory; None: what this machine has."""

    workers: int = 1
    cores: int | None = None
    bytes: float | None = None


HERE = Share()


def batches(configs: Sequence[RunConfig], by: Share = HERE) -> tuple[list[list[int]], int]:
    """Groups of runs, by their places in ``configs``, and how many groups to run side by side, by each worker.

    Of several workers each has something to do: groups are cut, but no further than that, as a program of many
    replicas takes hardly longer than one of few.
    """
    if len(configs) == 1:  # nothing to share out, and a problem of many nodes need not be built to be measured
        common_jobs(configs)
        return [[0]], 1
    together: dict[str, list[int]] = {}
    for place, config in enumerate(configs):
        together.setdefault(program(config) if engine_of(config).grouped else str(place), []).append(place)
    groups = [(configs[places[0]], places) for places in together.values()]
    sizes = {places[0]: sized(first) for first, places in groups if engine_of(first).grouped}
    jobs = common_jobs(configs)
    if jobs is None:
        on_cpu = [(first, places) for first, places in groups if engine_of(first).grouped and first.device == "cpu"]
        seconds = sum(len(places) * sizes[places[0]].seconds for _, places in on_cpu)
        worth = len(on_cpu) == len(groups) and seconds > WORTH_S * by.workers
        jobs = min(by.cores or cores(), len(configs)) if worth else 1
    out: list[list[int]] = []
    for first, places in groups:
        parts = 1
        if engine_of(first).grouped:
            within = (budget(first, by.bytes) / jobs - FIXED) // sizes[places[0]].bytes
            most = min(MOST, locks_per_job(jobs), within)
            parts = math.ceil(len(places) / max(1, most))
            parts = max(math.ceil(parts / jobs) * jobs, math.ceil(jobs * by.workers / len(groups)))
            parts = min(len(places), parts)
        out += [places[i * len(places) // parts : (i + 1) * len(places) // parts] for i in range(parts)]
    return out, min(jobs, len(out))
