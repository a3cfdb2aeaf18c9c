"""Epoch times with one slow node, computed by the clock and the tape, beside those that SWIFT's authors published.

    python -m benchmarks.slow_node

All times of one step come from the published means without a slow node: gradients and communication of each method, and
the other work of a node, which is what remains of D-SGD's wall time. The wall times with a slow node are predictions.
Communication occupies a node: D-SGD exchanges models after a barrier, and SWIFT spends its own time on sending.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bench.clock import RunCosts, StaticGraph, uniform
from bench.clock.compute import NANO, Compute
from bench.clock.recursion import node_times
from bench.events.rows import Kind
from bench.events.tape import draw_tape

PUBLISHED = Path(__file__).with_name("swift_slowdown.csv")
NODES, STEPS_PER_EPOCH = 16, 50_000 / (32 * 16)
EPOCHS = 5
"""Epochs that are simulated, long enough to forget the start."""
RING = [(i, (i + 1) % NODES) for i in range(NODES)]
Measured = Mapping[tuple[str, int], Mapping[str, float]]


def published() -> Measured:
    """Return the published seconds per epoch, by method and slow factor."""
    with PUBLISHED.open(encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {
            (row.pop("method"), int(row.pop("slow"))): {name: float(value) for name, value in row.items()}
            for row in rows
        }


def predicted(measured: Measured, method: str, slow: int) -> tuple[float, float]:
    """Return the seconds per epoch of the slow node and the mean of the others, from the times without a slow node."""
    dsgd, own = measured["dsgd", 1], measured[method, 1]
    other = dsgd["wall_s_slow_node"] - dsgd["compute_s"] - dsgd["communication_s"]
    gradient, communication, other = (
        each / STEPS_PER_EPOCH for each in (own["compute_s"], own["communication_s"], other)
    )
    compute = Compute(gradient, slow_node=0, slow_factor=slow, other_s=other + communication)
    times = _synchronous(compute) if method == "dsgd" else _wait_free(compute)
    per_epoch = times * STEPS_PER_EPOCH
    return float(per_epoch[0]), float(per_epoch[1:].mean())


def _synchronous(compute: Compute) -> np.ndarray:
    """Return the seconds per step of every node of D-SGD, (n,)."""
    steps = np.array([0, round(EPOCHS * STEPS_PER_EPOCH)])
    costs = RunCosts(StaticGraph(NODES, RING), steps, steps, steps, 0 * steps)
    _, end = node_times(costs, uniform(0, 1000, compute=compute))
    return np.asarray(end) / NANO / steps[1]


def _wait_free(compute: Compute) -> np.ndarray:
    """Return the seconds per gradient of every node that never waits, (n,)."""
    source, target = np.array(RING + [(j, i) for i, j in RING]).T
    steps = round(EPOCHS * STEPS_PER_EPOCH * compute.slow_factor)
    tape = draw_tape("messages", source, target, 0 * source, compute, seed=0, nodes=NODES, steps=steps)
    ended = tape.kind == Kind.GRADIENT
    count = np.bincount(tape.node[ended], minlength=NODES)
    last = np.zeros(NODES)
    np.maximum.at(last, tape.node[ended], tape.time[ended])
    return last / NANO / count


def main() -> None:
    """Print the published and the computed times."""
    measured = published()
    print("| method | slow factor | node | published (s) | computed (s) | difference |\n|---|---|---|---|---|---|")
    for method, slow in measured:
        ends = ("wall_s_slow_node", "wall_s_others")
        for name, computed in zip(ends, predicted(measured, method, slow), strict=True):
            wanted = measured[method, slow][name]
            node = "0" if name == ends[0] else "others"
            print(f"| {method} | {slow} | {node} | {wanted:.2f} | {computed:.2f} | {computed / wanted - 1:+.1%} |")


if __name__ == "__main__":
    main()
