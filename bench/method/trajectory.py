"""The states of a method, one after another: whoever runs one, runs it through here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from bench.method.algorithm import Algorithm, Grad, Mix


def trajectory(
    algorithm: Algorithm, begin: Tensor | tuple[int, Any], grad: Grad, mix: Mix, steps: int
) -> Iterator[tuple[int, Any]]:
    """(t, the state after t steps) up to ``steps``; it begins at a point x, or with such a pair."""
    t, state = (0, algorithm.start(begin, grad, mix)) if isinstance(begin, Tensor) else begin
    del begin  # what the method does not keep need not live as long as the run
    yield t, state
    while t < steps:
        state = algorithm.step(state, t, grad, mix)
        t += 1
        yield t, state


def blank_state(algorithm: Algorithm, x: Tensor) -> Any:
    """The start at x where every gradient is 0: the type, fields and shapes of the method's states, without a gradient.

    Not read off the annotation of ``start``, which a plug-in need not have and which says nothing of shapes.
    """

    return algorithm.start(x, _Nothing(), _Silence())


class _Nothing:
    """Gradients that are 0."""

    def __call__(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        return torch.zeros_like(x)

    def full(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class _Silence:
    """A network of one: everything comes back as it was said."""

    def __call__(self, *tensors: Tensor, when: Tensor | None = None) -> tuple[Tensor, ...]:
        return tensors

    push = pull = __call__

    def push_pull(
        self, push: tuple[Tensor, ...], pull: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        return push, pull

    def compressed(self, *tensors: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
        return tuple((tensor, tensor) for tensor in tensors)
