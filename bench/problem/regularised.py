"""f + r for a problem f: what keeps parameters small."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.base.registry import regularisers
from bench.problem.problem import Evaluation, Problem, hosted_share
from bench.problem.scaled import Around


def regulariser(name: str) -> Callable[[type[Regulariser]], type[Regulariser]]:
    """Register a regulariser; its annotated class attributes are its options."""
    return regularisers.register(name)


@dataclass(frozen=True)
class Regulariser:
    """r(x), the same at every node, and its gradient; or its proximal step, where it has no gradient."""

    smooth: ClassVar[bool] = True

    def value(self, x: Tensor) -> Tensor:
        """r of each vector in the last axis."""
        raise NotImplementedError

    def gradient(self, x: Tensor) -> Tensor:
        """∇r of one that is smooth."""
        raise NotImplementedError

    def prox(self, x: Tensor, eta: Tensor | float) -> Tensor:
        """argmin_u r(u) + ‖u − x‖²/(2η) of one that is not."""
        raise NotImplementedError


@regulariser("none")
@dataclass(frozen=True)
class Nothing(Regulariser):
    """r = 0"""


@regulariser("l2")
@dataclass(frozen=True)
class Square(Regulariser):
    """r(x) = (α/2) ‖x‖²"""

    alpha: Positive = 1e-4

    def value(self, x: Tensor) -> Tensor:
        return self.alpha / 2 * x.square().sum(-1)

    def gradient(self, x: Tensor) -> Tensor:
        return self.alpha * x


@regulariser("nonconvex")
@dataclass(frozen=True)
class Saturating(Regulariser):
    """r(x) = α Σ x²/(1 + x²)"""

    alpha: Positive = 0.01

    def value(self, x: Tensor) -> Tensor:
        square = x.square()
        return self.alpha * (square / (1 + square)).sum(-1)

    def gradient(self, x: Tensor) -> Tensor:
        return 2 * self.alpha * x / (1 + x.square()).square()


@regulariser("l1")
@dataclass(frozen=True)
class Absolute(Regulariser):
    """r(x) = α ‖x‖₁, which has no gradient at 0: for methods with a proximal step"""

    smooth = False
    alpha: Positive = 1e-4

    def value(self, x: Tensor) -> Tensor:
        return self.alpha * x.abs().sum(-1)

    def prox(self, x: Tensor, eta: Tensor | float) -> Tensor:
        """Every entry moves by αη towards 0, and stays there."""
        least = torch.as_tensor(self.alpha * eta, dtype=x.dtype, device=x.device)
        return x.sign() * (x.abs() - least).clamp_min(0)


class Regularised(Around):
    """f + r. Smooth ones are part of f and ∇f; of the others only r's value is, and there is ``prox``. Test losses are
    of the data alone."""

    def __init__(self, problem: Problem, by: Regulariser) -> None:
        super().__init__(problem)
        self.by = by
        self.prox = None if by.smooth else by.prox

    def start(self) -> Tensor:
        return self.problem.start()

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        return self._with(self.problem.grad(x, s, stream), x)

    def full(self, x: Tensor) -> Tensor:
        return self._with(self.problem.full(x), x)

    def evaluate(self, mean: Tensor) -> Evaluation:
        e, share = self.problem.evaluate(mean), hosted_share(self.setting)
        gradient = e.gradient + share * self.by.gradient(mean) if self.by.smooth else e.gradient
        return replace(e, train_loss=e.train_loss + share * self.by.value(mean), gradient=gradient)

    def node_gradients(self, mean: Tensor) -> Iterable[Tensor] | None:
        gradients = self.problem.node_gradients(mean)
        return None if gradients is None else (self._with(gradient, mean) for gradient in gradients)

    def _with(self, gradient: Tensor, x: Tensor) -> Tensor:
        return gradient + self.by.gradient(x) if self.by.smooth else gradient
