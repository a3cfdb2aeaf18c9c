"""Workloads and timers of the benchmarks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from bench.config.run_config import RunConfig
from bench.engine import stacked
from bench.engine.pool import Pool
from bench.store.record import Row
from bench.training.observer import Observer

NODES = 8
PERCEPTRON = ["dataset=planted", "model=mlp", "batch_size=32"]
IMAGES = ["dataset.samples=1024", "dataset.tests=1024", "dataset.features=784", "dataset.square=true"]
LENET = ["dataset=planted", *IMAGES, "model=lenet", "batch_size=32"]
LEAST_SQUARES = ["dataset=synthetic", "batch_size=1", "dataset.evaluation=100"]
MATRICES = {  # (rows, inner, columns) of the matrix products of one node's gradient
    "perceptron": [(32, 123, 64), (32, 64, 2), (64, 32, 2), (32, 2, 64), (123, 32, 64)],
    "least squares": [(1, 100, 1), (1, 1, 100)],
}

Entry = dict[str, Any]


def floor_ms(work: str) -> float:
    """Milliseconds of the batched matrix products alone."""
    pairs = [(torch.randn(NODES, a, b), torch.randn(NODES, b, c)) for a, b, c in MATRICES[work]]
    return 1e3 * best(lambda: [torch.bmm(x, y) for x, y in pairs], 200)


def best(function: Callable[[], object], repeat: int, rounds: int = 7) -> float:
    """Seconds per call: the minimum over rounds of the mean over ``repeat`` calls."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(repeat):
            function()
        times.append((time.perf_counter() - began) / repeat)
    return min(times)


class Rows(Observer):
    """Records the rows of the first run of a group."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def record(self, r: int, row: Row) -> None:
        if r == 0:
            self.rows.append(row)


def iteration_ms(run: Callable[[RunConfig, Observer], object], config: RunConfig, repeat: int = 3) -> float:
    """Milliseconds of computation and communication per step in the second half of a run; median of ``repeat`` runs."""
    times = []
    for _ in range(repeat):
        recorded = Rows()
        run(config, recorded)
        spent = [row["compute_s"] + row["comm_s"] for row in recorded.rows]
        times.append(1e3 * (spent[-1] - spent[-2]) / (recorded.rows[-1]["step"] - recorded.rows[-2]["step"]))
    return statistics.median(times)


def on_stacked(config: RunConfig, observer: Observer) -> None:
    stacked.run([config], observer)


def on(pool: Pool) -> Callable[[RunConfig, Observer], None]:
    return lambda config, observer: pool.run([config], observer)
