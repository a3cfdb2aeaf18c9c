"""Compute times of the gradients of all nodes until the end of a tape, in whole nanoseconds."""

from __future__ import annotations

import numpy as np

from bench.base.errors import UserError
from bench.clock.compute import BLOCK, NANO, Compute

LONGEST = 2**61
"""Nanoseconds of the longest tape, 73 years: the sum of three such times fits into int64."""


def nominal(compute: Compute) -> int:
    """Return the nanoseconds of a gradient of a node that is not slow, without random parts.

    Raises:
        UserError: The network has no time per gradient, or one below a nanosecond.
    """
    c = compute.gradient_s
    unit = 0 if c is None else round((c + compute.other_s) * NANO)
    if unit < 1:
        value = "'measured'" if c is None else f"{1000 * c:g}"
        raise UserError(
            f"Asynchronous methods need the time of a gradient before the run, but gradient_ms is {value}. Set "
            "gradient_ms in the section compute of the network file to a positive number of milliseconds."
        )
    return unit


def durations(compute: Compute, seed: int, nodes: int, end: int) -> list[np.ndarray]:
    """Return the compute times of each node, from gradient 0 to the first that ends after ``end`` without any waiting.

    Gradient k has the time of step k of the synchronous clock. Times beyond the end are ``end + 1``.
    """
    base, beyond = compute.base(nodes), end + 1
    if not compute.random:
        constant = _whole(base + compute.other_s * NANO, beyond).tolist()
        return [np.full(end // each + 1, each) for each in constant]
    blocks: list[np.ndarray] = []
    reached = np.zeros(nodes, dtype=np.int64)
    while reached.min() <= end:
        factors, extra = compute.draws(seed, nodes, 1 + BLOCK * len(blocks), BLOCK)
        block = _whole(base * factors + extra, beyond)
        before = reached + np.cumsum(block, axis=0, dtype=np.float64) - block
        block[before > 1.5 * beyond] = 0  # the sum of all times must not overflow
        blocks.append(block)
        reached = reached + block.sum(axis=0)
    times = np.concatenate(blocks)
    counts = (np.cumsum(times, axis=0) <= end).sum(axis=0) + 1
    return [times[:count, i].copy() for i, count in enumerate(counts.tolist())]


def _whole(times: np.ndarray, beyond: int) -> np.ndarray:
    """Return times in whole nanoseconds, at least 1, so that time advances, and at most ``beyond``."""
    out = np.rint(np.clip(times, 1, beyond)).astype(np.int64)
    out[times >= beyond] = beyond  # a float may be too coarse for this number
    return out
