"""Ways to mix that several methods share: lazily, and several rounds at once with momentum."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.method.algorithm import Mix


def lazily(mix: Mix, *tensors: Tensor) -> tuple[Tensor, ...]:
    """(I + W)/2 times each, in one round: no eigenvalue is negative."""
    return tuple((before + after) / 2 for before, after in zip(tensors, mix(*tensors), strict=True))


def momentum_of_gossip(rho: Tensor) -> Tensor:
    """ω = (1 − √(1−ρ²)) / (1 + √(1−ρ²))"""
    root = torch.sqrt(1 - rho**2)
    return (1 - root) / (1 + root)


def accelerated(mix: Mix, rho: Tensor, rounds: int, *tensors: Tensor) -> tuple[Tensor, ...]:
    """FG_R: A₋₁ = A₀ = A,  A_{r+1} = (1+ω) W A_r − ω A_{r−1}, for R = ``rounds`` rounds.

    It keeps the mean, and shrinks what is off it by about √ω a round, but has negative weights: R must be large enough
    for it to be a contraction, which the network says (``Declaration.accelerates``).
    """
    omega = momentum_of_gossip(rho)
    before = now = tensors
    for _ in range(rounds):
        after = tuple((1 + omega) * w - omega * b for w, b in zip(mix(*now), before, strict=True))
        before, now = now, after
    return now


def slowed_momentum(lambda_2: Tensor) -> Tensor:
    """ω̃ = (1 + ω)/2, with ω of the λ₂ of (I + W)/2: what gossip in a single loop takes (DSMT)."""
    return (1 + momentum_of_gossip((1 + lambda_2) / 2)) / 2
