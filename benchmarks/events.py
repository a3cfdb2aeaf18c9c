"""CPU time of drawing and of computing the events of asynchronous methods."""

from __future__ import annotations

import time
from typing import get_args

import numpy as np

from bench.base.registry import algorithms
from bench.build.events import tape_of
from bench.clock import Compute
from bench.config.compose import compose_one
from bench.events import Pattern, draw_tape
from bench.sweep.memory import problem_of
from bench.training.observer import Observer
from benchmarks.clock import PERCEPTRON, Entry, on_stacked

NODES = 16
COMPUTE = {
    "equal nodes": Compute(0.01),
    "random times, slow node": Compute(0.01, lognormal_sigma=0.3, slow_node=0, slow_factor=4),
}


def tapes(events: int) -> list[Entry]:
    """Return the seconds of CPU of tapes of so many events of 16 nodes on a ring, per million events."""
    here = np.arange(NODES)
    source, target = np.tile(here, 2), np.concatenate([(here + 1) % NODES, (here - 1) % NODES])
    delays, transfer = np.full(2 * NODES, 2_000_000), np.full(2 * NODES, 1_000_000)
    entries: list[Entry] = []
    for kind, compute in COMPUTE.items():
        for pattern in get_args(Pattern):
            graph = source, target, delays, compute, 0, NODES
            steps = events * 100 // max(1, len(draw_tape(pattern, *graph, 100, transfer=transfer)))
            began = time.process_time()
            drawn = len(draw_tape(pattern, *graph, steps, transfer=transfer))
            spent = time.process_time() - began
            entries.append({"what": f"{pattern}, {kind}", "s": spent * 1e6 / drawn})
    return entries


class Ticks(Observer):
    """Records the CPU time after every step."""

    def __init__(self) -> None:
        self.at: dict[int, float] = {}

    def tick(self, t: int) -> None:
        self.at[t] = time.process_time()


def played(steps: int) -> list[Entry]:
    """Return the events per second of CPU of every asynchronous method, 16 nodes on a ring, without evaluations.

    The compute times are random, so that no two gradients end together.
    """
    entries: list[Entry] = []
    for name in algorithms:
        if algorithms[name].properties.asynchronous:
            where = [f"nodes={NODES}", f"steps={steps}", f"eval_every={steps}", "network.jitter=0.3"]
            config, ticks = compose_one([f"algo={name}", *PERCEPTRON, *where]), Ticks()
            on_stacked(config, ticks)
            begin, end = steps // 4, steps - 1
            first, last = tape_of(config, problem_of(config).layout.size).upto([begin, end])
            entries.append({"what": name, "per_s": (last - first) / (ticks.at[end] - ticks.at[begin])})
    return entries
