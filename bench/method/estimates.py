"""Gradient estimates from several mini-batches, which several methods share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from bench.base.options import Count
from bench.method.algorithm import Algorithm
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
