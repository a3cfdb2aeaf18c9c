"""The sequence of states of a method. Engines, contracts and tests all run a method through this module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from bench.method.algorithm import Algorithm
from bench.method.protocols import Grad, Mix


def trajectory(
    algorithm: Algorithm,
    begin: Tensor | tuple[int, Any],
    grad: Grad,
    mix: Mix,
    steps: int,
    step: Callable[[Any, int], Any] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield the pairs (t, state after t steps) up to ``steps``.

    Args:
        algorithm: The method.
        begin: The initial points x, (R, k, P), or a pair (t, state) to continue from.
        grad: Gradients of the hosted nodes.
        mix: Communication with the neighbors.
        steps: The number of steps in all.
        step: A faster function with the values of ``algorithm.step(state, t, grad, mix)``.

    Yields:
        The pairs, the first one included.
    """
    t, state = (0, algorithm.start(begin, grad, mix)) if isinstance(begin, Tensor) else begin
    del begin  # frees the memory of x if the method does not keep it
    yield t, state
    while t < steps:
        state = step(state, t) if step else algorithm.step(state, t, grad, mix)
        t += 1
        yield t, state


def blank_state(algorithm: Algorithm, x: Tensor) -> Any:
    """Return the start at x with zero gradients, which has the type, fields and shapes of the method's states.

    The annotation of ``start`` is not used, because a plug-in need not have one and it has no shapes.
    """
    return algorithm.start(x, _Nothing(), _Silence())


class _Nothing:
    """Zero gradients."""

    def __call__(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        return torch.zeros_like(x)

    def full(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class _Silence:
    """A network of one node, which returns its input."""

    def __call__(self, *tensors: Tensor, when: Tensor | None = None) -> tuple[Tensor, ...]:
        return tensors

    push = pull = __call__

    def push_pull(
        self, push: tuple[Tensor, ...], pull: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        return push, pull

    def compressed(self, *tensors: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
        return tuple((tensor, tensor) for tensor in tensors)
