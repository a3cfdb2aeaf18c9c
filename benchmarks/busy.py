"""Time per step on a busy machine: beside processes that compute all the time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager

from bench.base.machine import cores
from bench.config.compose import compose_one
from bench.engine.pool import Pool
from benchmarks.clock import NODES, PERCEPTRON, Entry, iteration_ms, on

OTHERS = 6
"""Processes that compute beside the run."""


@contextmanager
def neighbors(count: int) -> Iterator[None]:
    """Start processes that compute until the end of the block."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(10**6))"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def busy(steps: int) -> list[Entry]:
    """Milliseconds per iteration of D-NASA, alone and beside ``OTHERS`` processes.

    The ratio is the time beside them over the time alone and over the fair share: with p processes of ours and 6
    others on c cores, each gets c/(p + 6) of a core.
    """
    entries: list[Entry] = []
    common = [*PERCEPTRON, f"nodes={NODES}", f"steps={steps}", f"eval_every={steps // 2}"]
    ranks = min(NODES, cores())
    with closing(Pool()) as pool:
        for name, words, processes in (
            ("one process", ["engine=stacked"], 1),
            (f"{ranks} ranks", ["engine=mpi"], ranks),
        ):
            config = compose_one([*common, *words])
            alone = iteration_ms(on(pool), config)
            with neighbors(OTHERS):
                beside = iteration_ms(on(pool), config)
            fair = max(1.0, (processes + OTHERS) / cores()) / max(1.0, processes / cores())
            entries.append({"what": f"{name}: alone", "ms": alone, "ratio": 1.0})
            entries.append({"what": f"{name}: beside {OTHERS} processes", "ms": beside, "ratio": beside / alone / fair})
    return entries
