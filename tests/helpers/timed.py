"""Invented runs with the costs that the clock needs, and their seconds by a formula."""

from __future__ import annotations

from typing import Any

from analysis.results.results import Results
from bench.clock import Compute, Network, uniform
from tests.helpers.invented import made

RING = [[i, (i + 1) % 8] for i in range(8)]
BITS = 50
"""Bits of a message: 100 bytes per step in 16 messages of a round."""


def fact(**algorithm: Any) -> dict[str, Any]:
    return {
        "algorithm": {"rounds": 1, "gradients": 1, **algorithm},
        "mixing": {"period": 1, "edge_list": RING, "rho": 0.8},
    }


def timed(rows: list[dict[str, Any]], **algorithm: Any) -> Results:
    """Runs on a ring of eight nodes, evaluated at the steps 0, 200 and 400; ``algorithm`` is their declaration."""
    rows = [{"batch_size": 4, "train": 0.5, "end": 0.5, **row} for row in rows]
    return made(rows, [fact(name=row["algo"], **algorithm) for row in rows])


def pair() -> Results:
    """Five seeds of D-SGD, which is at the target at step 200, and of D-SGT, of which one seed misses it."""
    seeds = range(5)
    return timed(
        [{"algo": "dsgd", "seed": seed} for seed in seeds]
        + [{"algo": "dsgt", "seed": seed, "train": 0.9 if seed == 4 else 0.4} for seed in seeds]
    )


def slow(latency_ms: float = 10, bandwidth_mbps: float = 1) -> Network:
    return uniform(latency_ms, bandwidth_mbps, name="slow", title="slow links", compute=Compute(gradient_s=0.001))


def expected(steps: float, latency_ms: float = 10, bandwidth_mbps: float = 1) -> float:
    """Compute, latency, and two messages that share the uplink, in every step."""
    return steps * (0.001 + latency_ms / 1e3 + 2 * BITS / (bandwidth_mbps * 1e6))
