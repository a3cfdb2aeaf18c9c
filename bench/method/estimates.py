"""Building blocks that several methods share: gradient estimates, momentum and normalized vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor

from bench.base.options import Count
from bench.method.algorithm import Algorithm
from bench.method.gossip import slowed_momentum
from bench.method.properties import Properties
from bench.method.protocols import Grad


def mean_gradient(grad: Grad, x: Tensor, first: int, count: int) -> Tensor:
    """Return the mean gradient at x over the samples ``first``, …, ``first + count − 1``, (R, k, P)."""
    total = grad(x, first)
    for k in range(1, count):
        total = total + grad(x, first + k)
    return total / count


def start_gradient(grad: Grad, x: Tensor, count: int) -> Tensor:
    """Return the mean gradient over sample 0 and ``count − 1`` samples of a stream that no step uses, (R, k, P)."""
    total = grad(x, 0)
    for s in range(count - 1):
        total = total + grad(x, s, stream=1)
    return total / count


class Recursive(Algorithm):
    """Base of methods with a recursive gradient estimate, whose first value averages ``start_batches`` gradients."""

    start_batches: Count = 1

    @classmethod
    def declare(cls, *, start_batches: int, **others: Any) -> Properties:  # type: ignore[override]
        """Return the properties with this size of the first estimate."""
        return replace(cls.properties, start_samples=start_batches)


class HeavyBall(Algorithm):
    """Base of methods with momentum β: a given one, or β = 1 − n^(−1/3) (1 − √ω̃) with ω̃ of (I + W)/2."""

    beta: float = 0.9
    momentum: Literal["theory", "given"] = "theory"

    def remembers(self) -> Tensor:
        """Return β, (R, 1, 1)."""
        if self.momentum == "given":
            return self.beta  # type: ignore[return-value]
        return 1 - self.n ** (-1 / 3) * (1 - torch.sqrt(slowed_momentum(self.lambda_2)))


def unit(z: Tensor) -> Tensor:
    """Divide the vector of every node by its Euclidean norm.

    The norm is computed in float64, because squares in float32 underflow or overflow at scales where z does not.

    Args:
        z: The vectors, (R, k, P).

    Returns:
        z/‖z‖ over the last axis, (R, k, P), in the dtype of z; 0 where the norm is 0.

    Example:
        >>> unit(torch.tensor([[[3.0, 4.0]]]))
        tensor([[[0.6000, 0.8000]]])
    """
    norm = torch.linalg.vector_norm(z, dim=-1, keepdim=True, dtype=torch.float64).to(z.dtype)
    return z / norm.clamp_min(torch.finfo(z.dtype).tiny)
