"""Gradients of more than one sample, which several methods ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from bench.base.options import Count
from bench.method.algorithm import Algorithm, Grad
from bench.method.declaration import Declaration


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


class Recursive(Algorithm):
    """A method that estimates its gradient recursively, from a first estimate of ``start_batches`` mini-batches."""

    start_batches: Count = 1

    @classmethod
    def declare(cls, *, start_batches: int, **others: Any) -> Declaration:  # type: ignore[override]
        return replace(cls.declaration, start_samples=start_batches)
