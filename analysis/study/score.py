"""The score of a run: how much less it costs than tuned D-SGD to reach losses between the start and a reference.

The targets are F_ref + (F_0 − F_ref) 2⁻ᵏ for k = 1, …, 8. A run that misses a target, or diverged, pays twice its
budget. A score of 1 means half of the cost of tuned D-SGD, a score of −1 twice its cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

COUNT = 8
"""Number of targets."""
LIMIT = 3.0
"""Bound on the score at each target."""
MISS = 2.0
"""A missed target costs this many times the budget."""


@dataclass(frozen=True)
class Price:
    """Prices of gradients and of communication, in seconds.

    Attributes:
        gradient: Seconds per mini-batch gradient.
        latency: Seconds per communication round.
        bandwidth: Bytes per second that a node sends.
    """

    gradient: float = 0.01
    latency: float = 0.0
    bandwidth: float = np.inf

    def of(self, gradients: np.ndarray, rounds: np.ndarray, sent: np.ndarray) -> np.ndarray:
        """Return the cost of gradients, rounds and bytes sent, all per node."""
        return self.gradient * gradients + self.latency * rounds + sent / self.bandwidth


GRADIENTS = Price()
LATENCY = Price(latency=0.05, bandwidth=1e9 / 8)
BANDWIDTH = Price(latency=0.005, bandwidth=20e6 / 8)


def targets(start: float, reference: float, count: int = COUNT) -> np.ndarray:
    """Return the losses to reach: the distance from the reference halves from each to the next."""
    return reference + (start - reference) * 0.5 ** np.arange(1, count + 1)


def costs_to_reach(
    costs: np.ndarray,
    losses: np.ndarray,
    start: float,
    reference: float,
    budget: float,
    *,
    diverged: bool = False,
    count: int = COUNT,
    beyond: int = 0,
    lasting: bool = False,
) -> np.ndarray:
    """Return the cost until each target.

    Between two evaluations, the logarithm of the cost is linear in the logarithm of the distance from the reference. A
    distance may be negative, so that its logarithm is not defined. Therefore a distance below that of the last target,
    halved ``beyond`` times, counts as this distance. A run that starts below a target pays for it the first positive
    cost, since the logarithm of 0 is not defined.

    Args:
        costs: The cost until each evaluation, not decreasing, (E,).
        losses: The loss at each evaluation, (E,); it may be nonfinite.
        start: The loss F_0 at the start.
        reference: The loss F_ref that the last target is close to.
        budget: The cost of the whole budget.
        diverged: Whether the run diverged, so that it misses all targets.
        count: The number of targets.
        beyond: With 0, the last target has the cost of the first evaluation at which it is reached.
        lasting: Whether a target is reached at the evaluation from which on all losses are at most the target, instead
            of the first one.

    Raises:
        ValueError: The reference is not below the start.
    """
    if not reference < start:
        raise ValueError(f"the reference {reference:g} must be below the start {start:g}")
    wanted = targets(start, reference, count)
    out = np.full(count, MISS * budget)
    if diverged:
        return out
    apart = np.maximum(losses - reference, (start - reference) * 0.5 ** (count + beyond))
    for k, target in enumerate(wanted):
        reached = losses <= target  # false for NaN
        if lasting:
            reached = np.logical_and.accumulate(reached[::-1])[::-1]
        if reached.any():
            out[k] = _until(costs, apart, int(reached.argmax()), target - reference)
    return out


def _until(costs: np.ndarray, apart: np.ndarray, first: int, wanted: float) -> float:
    """Return the interpolated cost at which the distance is ``wanted``; evaluation ``first`` is not above it."""
    if first == 0:
        positive = costs[costs > 0]
        return float(positive[0]) if len(positive) else float(costs[0])
    before, after = first - 1, first
    if costs[before] <= 0 or not np.isfinite(apart[before]):
        return float(costs[after])
    part = np.log(apart[before] / wanted) / np.log(apart[before] / apart[after])
    return float(costs[before] * (costs[after] / costs[before]) ** part)


def score(costs: np.ndarray, yardstick: np.ndarray, limit: float = LIMIT) -> float:
    """Return the mean over the targets of log₂(yardstick/cost), each between −limit and limit."""
    return float(np.clip(np.log2(yardstick / costs), -limit, limit).mean())


def yardstick(costs: np.ndarray) -> np.ndarray:
    """Return the median cost over seeds at each target, (K,), of costs (S, K)."""
    return np.median(costs, axis=0)
