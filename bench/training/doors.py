"""What a method is given of the world: two callables, and nothing of what is behind them.

A method that says it needs to know nothing must not find W, the data or the problem's constants by looking around:
from ``grad`` and ``mix`` no attribute and no closure leads there. A method is Python and runs in this process, so one
that searches the interpreter (module globals, the garbage collector) still can; that takes intent, not an accident.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.problem.problem import Problem
from bench.training.ledger import Ledger, Stopwatch
from bench.training.world import Mixer


class GradDoor:
    """``grad(x, s, stream=0)`` and ``grad.full(x)``."""

    __slots__ = ("__weakref__",)

    def __call__(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        problem, ledger = _behind[self]
        ledger.sample(s, stream)
        return _checked(x, problem.grad(x, s, stream))

    def full(self, x: Tensor) -> Tensor:
        problem, ledger = _behind[self]
        ledger.all_data()
        return _checked(x, problem.full(x))


class MixDoor:
    """``mix(*tensors, when=None)``."""

    __slots__ = ("__weakref__",)

    def __call__(self, *tensors: Tensor, when: Tensor | None = None) -> tuple[Tensor, ...]:
        mixer, ledger, clock = _behind[self]
        talks = None if when is None else when.flatten().cpu().numpy()
        mixed = tensors
        if talks is None or talks.any():
            began = clock.begin_round(tensors[0].is_cuda)
            mixed = mixer(ledger.round, tensors)
            clock.end_round(began)
        if talks is not None and talks.any() and not talks.all():
            here = torch.as_tensor(talks, device=tensors[0].device)[:, None, None]
            mixed = tuple(torch.where(here, after, before) for after, before in zip(mixed, tensors, strict=True))
        ledger.sent(tensors, talks)
        return mixed


_behind: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()


def open_doors(problem: Problem, mixer: Mixer, ledger: Ledger, clock: Stopwatch) -> tuple[GradDoor, MixDoor]:
    """``grad`` and ``mix`` of one run; every call is written into the ledger."""
    grad, mix = GradDoor(), MixDoor()
    _behind[grad], _behind[mix] = (problem, ledger), (mixer, ledger, clock)
    return grad, mix


def _checked(x: Tensor, g: Tensor) -> Tensor:
    if g.shape != x.shape:  # what can be broadcast would go on with wrong numbers
        raise UserError(f"The problem's gradient at x of shape {tuple(x.shape)} has shape {tuple(g.shape)}.")
    return g
