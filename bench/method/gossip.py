"""Mixing variants that several methods share: lazy, repeated and accelerated gossip."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.method.protocols import Mix


def lazily(mix: Mix, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Multiply by the lazy matrix (I + W)/2 in one round. It has no negative eigenvalue.

    Args:
        mix: Communication with the neighbors.
        *tensors: The tensors that every node sends, (R, k, P).

    Returns:
        (I + W)/2 times each tensor.

    Example:
        >>> (x,) = lazily(mix, s.x)
    """
    return tuple((before + after) / 2 for before, after in zip(tensors, mix(*tensors), strict=True))


def repeatedly(mix: Mix, x: Tensor, rounds: int) -> Tensor:
    """Return W^rounds times x, in as many rounds.

    Example:
        >>> x = repeatedly(mix, s.x, 2)
    """
    for _ in range(rounds):
        (x,) = mix(x)
    return x


def momentum_of_gossip(rho: Tensor) -> Tensor:
    """Return the momentum ω = (1 − √(1−ρ²)) / (1 + √(1−ρ²)) of accelerated gossip."""
    root = torch.sqrt(1 - rho**2)
    return (1 - root) / (1 + root)


def accelerated(mix: Mix, rho: Tensor, rounds: int, *tensors: Tensor) -> tuple[Tensor, ...]:
    """FG_R: A₋₁ = A₀ = A,  A_{r+1} = (1+ω) W A_r − ω A_{r−1}, for R = ``rounds`` rounds.

    Accelerated gossip preserves the mean over the nodes and shrinks the consensus error by about √ω per round. Its
    weights may be negative, so that few rounds need not contract. Declare ``accelerates=R``: hearsay then rejects
    networks on which R rounds do not contract.

    Args:
        mix: Communication with the neighbors.
        rho: max(|λ₂|, |λ_n|) of W, (R, 1, 1), as ``self.rho``.
        rounds: The number of rounds, R.
        *tensors: The tensors that every node sends, (R, k, P).

    Returns:
        The tensors after the rounds.

    Example:
        >>> x, y = accelerated(mix, self.rho, 4, s.x, s.y)
    """
    omega = momentum_of_gossip(rho)
    before = now = tensors
    for _ in range(rounds):
        after = tuple((1 + omega) * w - omega * b for w, b in zip(mix(*now), before, strict=True))
        before, now = now, after
    return now


def slowed_momentum(lambda_2: Tensor) -> Tensor:
    """Return ω̃ = (1 + ω)/2, with ω of the λ₂ of (I + W)/2: the momentum of DSMT's single-loop gossip."""
    return (1 + momentum_of_gossip((1 + lambda_2) / 2)) / 2
