"""What a method is given of the hosting: two callables, and nothing of what is behind them.

A method that says it needs to know nothing must not find W, the data or the problem's constants by looking around:
from ``grad`` and ``mix`` no attribute and no closure leads there. A method is Python and runs in this process, so one
that searches the interpreter (module globals, the garbage collector) still can; that takes intent, not an accident.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor

from bench.base.errors import UserError
from bench.problem.problem import Problem
from bench.training.network import Network


class GradOracle:
    """``grad(x, s, stream=0)`` and ``grad.full(x)``."""

    __slots__ = ("__weakref__",)

    def __call__(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        problem, costs = _behind[self]
        costs.sample(s, stream)
        return _checked(x, problem.grad(x, s, stream))

    def full(self, x: Tensor) -> Tensor:
        problem, costs = _behind[self]
        costs.all_data()
        return _checked(x, problem.full(x))


class MixOracle:
    """``mix(*tensors, when=None)``, ``mix.push``, ``mix.pull``, ``mix.push_pull`` and ``mix.compressed``."""

    __slots__ = ("__weakref__",)

    def __call__(self, *tensors: Tensor, when: Tensor | None = None) -> tuple[Tensor, ...]:
        network: Network = _behind[self][0]
        return network.mix(tensors, when)

    def push(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        network: Network = _behind[self][0]
        return network.push(tensors)

    def pull(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        network: Network = _behind[self][0]
        return network.pull(tensors)

    def push_pull(
        self, push: tuple[Tensor, ...], pull: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        network: Network = _behind[self][0]
        return network.push_pull(push, pull)

    def compressed(self, *tensors: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
        network: Network = _behind[self][0]
        return network.compressed(tensors)


_behind: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()


def make_oracles(problem: Problem, network: Network, costs: Any) -> tuple[GradOracle, MixOracle]:
    """``grad`` and ``mix`` of one run; every call is written into the costs."""
    grad, mix = GradOracle(), MixOracle()
    _behind[grad], _behind[mix] = (problem, costs), (network,)
    return grad, mix


def _checked(x: Tensor, g: Tensor) -> Tensor:
    if g.shape != x.shape:  # what can be broadcast would go on with wrong numbers
        raise UserError(f"The problem's gradient at x of shape {tuple(x.shape)} has shape {tuple(g.shape)}.")
    return g
