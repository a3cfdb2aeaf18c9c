"""Divide runs into groups, and choose the number of processes.

Runs of engine=stacked that differ only in stepsizes, seed and graph are replicas of one tensor program. Those of
engine=events must also have the same events. The available memory limits the size of a group. On a CPU, a long sweep
has at least one group per core, since processes are faster than threads.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import NamedTuple

from bench.base.errors import UserError
from bench.base.machine import cores, locks_per_job
from bench.build.events import RATE
from bench.build.network import method_of, mixing_of
from bench.config.run_config import RunConfig
from bench.engine.engines import engine_of
from bench.sweep.memory import FIXED, budget, sized
from bench.training.mixers import SPARSE_FROM

MOST = 500
"""Maximal runs of a group. Each holds a lock, and a process can open only so many files."""
WORTH_S = 30.0
"""Estimated seconds of one core from which several processes are faster."""


def name_of(configs: Sequence[RunConfig]) -> str:
    """Return the name of a group of runs for the display."""
    first = configs[0]
    return first.run_id if len(configs) == 1 else f"{len(configs)} × {first.algo.name}-{first.dataset.name}"


def program(config: RunConfig) -> str:
    """Return a key that is equal for runs that can be replicas of one program."""
    identity = config.plain(identity_only=True)
    del identity["seed"]
    asynchronous = method_of(config).properties.asynchronous
    for option in method_of(config).number_options():
        if not asynchronous or option != RATE:
            identity["algo"].pop(option, None)
    network = mixing_of(config)
    if asynchronous:  # replicas share the events, and so the graph and the rate of meetings
        identity["topology"] = network.certificate.hash
    elif network.changing and not network.one_way:
        identity["topology"] = "changing"
        identity.pop("links", None)
    elif config.nodes < SPARSE_FROM and not network.one_way:
        identity["topology"] = network.period
    engine = [config.engine.name, config.engine.options]
    how = {"engine": engine, "device": config.device, "every": config.checkpoint_every}
    return json.dumps({**identity, **how}, sort_keys=True)


def common_jobs(configs: Sequence[RunConfig]) -> int | None:
    """Return the setting ``jobs``; UserError if the runs have different values."""
    values = list(dict.fromkeys(config.jobs for config in configs))
    if len(values) > 1:
        got = " and ".join(f"jobs={'null' if jobs is None else jobs}" for jobs in values)
        raise UserError(f"All runs of a sweep must have the same value of jobs, got {got}.")
    return values[0]


class Share(NamedTuple):
    """The number of workers, and the cores and bytes of memory of each. None: those of this machine."""

    workers: int = 1
    cores: int | None = None
    bytes: float | None = None


HERE = Share()


def batches(configs: Sequence[RunConfig], by: Share = HERE) -> tuple[list[list[int]], int]:
    """Return groups of runs, by their places in ``configs``, and the number of groups that a worker runs in parallel.

    Groups are divided only until every worker has one, since a program with many replicas is hardly slower than one
    with few.
    """
    if len(configs) == 1:  # saves building a large problem to estimate its memory
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
