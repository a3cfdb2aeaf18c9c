"""Gradients of more than one sample, which several methods ask for."""

from __future__ import annotations

from torch import Tensor

from bench.method.algorithm import Grad


def mean_gradient(grad: Grad, x: Tensor, first: int, count: int) -> Tensor:
    """The mean at x over the samples ``first``, …, ``first + count − 1``."""
    total = grad(x, first)
    for s in range(first + 1, first + count):
        total = total + grad(x, s)
    return total / count


def start_gradient(grad: Grad, x: Tensor, count: int) -> Tensor:
    """The mean over sample 0 and ``count − 1`` of a stream that no step uses."""
    total = grad(x, 0)
    for s in range(count - 1):
        total = total + grad(x, s, stream=1)
    return total / count
