"""Regularizers r, and the objective f + r for a problem f."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.base.registry import regularizers
from bench.problem.problem import Evaluation, Problem
from bench.problem.scaled import Around
from bench.problem.setting import hosted_share


def regularizer(name: str) -> Callable[[type[Regularizer]], type[Regularizer]]:
    """Register a regularizer. A decorator for a frozen dataclass that subclasses ``Regularizer``.

    Args:
        name: The name on the command line, ``regularizer=NAME``. Its fields are options, ``regularizer.FIELD``.

    Example:
        >>> @regularizer("quartic")
        ... @dataclass(frozen=True)
        ... class Quartic(Regularizer):
        ...     alpha: Positive = 1e-4
        ...     def value(self, x):
        ...         return self.alpha * x.pow(4).sum(-1)
        ...     def gradient(self, x):
        ...         return 4 * self.alpha * x.pow(3)
    """
    return regularizers.register(name)


@dataclass(frozen=True)
class Regularizer:
    """Base class of regularizers r(x), which are the same at every node.

    Define ``value``, and ``gradient`` if r is smooth, otherwise ``prox``. See ``regularizer`` for an example.

    Attributes:
        smooth: Whether r has a gradient. A nonsmooth r needs a method that is ``proximal``.
    """

    smooth: ClassVar[bool] = True

    def value(self, x: Tensor) -> Tensor:
        """Return r of each vector in the last axis: from (…, P) to (…)."""
        raise NotImplementedError

    def gradient(self, x: Tensor) -> Tensor:
        """Return ∇r(x), (…, P), for a smooth r."""
        raise NotImplementedError

    def prox(self, x: Tensor, eta: Tensor | float) -> Tensor:
        """Return argmin_u r(u) + ‖u − x‖²/(2η), (…, P), for a nonsmooth r."""
        raise NotImplementedError


@regularizer("none")
@dataclass(frozen=True)
class Nothing(Regularizer):
    """No regularizer: r = 0."""


@regularizer("l2")
@dataclass(frozen=True)
class Square(Regularizer):
    """The squared ℓ₂ norm, r(x) = (α/2) ‖x‖²."""

    alpha: Positive = 1e-4

    def value(self, x: Tensor) -> Tensor:
        return self.alpha / 2 * x.square().sum(-1)

    def gradient(self, x: Tensor) -> Tensor:
        return self.alpha * x


@regularizer("nonconvex")
@dataclass(frozen=True)
class Saturating(Regularizer):
    """A nonconvex, bounded penalty, r(x) = α Σ x²/(1 + x²)."""

    alpha: Positive = 0.01

    def value(self, x: Tensor) -> Tensor:
        square = x.square()
        return self.alpha * (square / (1 + square)).sum(-1)

    def gradient(self, x: Tensor) -> Tensor:
        return 2 * self.alpha * x / (1 + x.square()).square()


@regularizer("l1")
@dataclass(frozen=True)
class Absolute(Regularizer):
    """The ℓ₁ norm, r(x) = α ‖x‖₁, for methods with a proximal step."""

    smooth = False
    alpha: Positive = 1e-4

    def value(self, x: Tensor) -> Tensor:
        return self.alpha * x.abs().sum(-1)

    def prox(self, x: Tensor, eta: Tensor | float) -> Tensor:
        """Soft thresholding: move every entry towards 0 by at most αη."""
        least = torch.as_tensor(self.alpha * eta, dtype=x.dtype, device=x.device)
        return x.sign() * (x.abs() - least).clamp_min(0)


UNKNOWN = ("suboptimality", "minimizer_distance")
"""Endings of the columns that need the minimum of f."""


class Regularized(Around):
    """The objective f + r.

    The training loss and the node loss include r. The gradient includes ∇r if r is smooth; otherwise ``prox`` is set.
    Test losses do not include r. There are no columns ``UNKNOWN``, since the minimum of f + r is not known.
    """

    def __init__(self, problem: Problem, by: Regularizer) -> None:
        super().__init__(problem)
        self.by = by
        self.prox = None if by.smooth else by.prox
        self.columns = {name: c for name, c in problem.columns.items() if not name.endswith(UNKNOWN)}

    def start(self) -> Tensor:
        return self.problem.start()

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        return self._with(self.problem.grad(x, s, stream), x)

    def full(self, x: Tensor) -> Tensor:
        return self._with(self.problem.full(x), x)

    def evaluate(self, mean: Tensor) -> Evaluation:
        e, share = self.problem.evaluate(mean), hosted_share(self.setting)
        gradient = e.gradient + share * self.by.gradient(mean) if self.by.smooth else e.gradient
        loss = e.train_loss + share * self.by.value(mean)
        also = {name: value for name, value in e.also.items() if not name.endswith(UNKNOWN)}
        return replace(e, train_loss=loss, gradient=gradient, also=also)

    def node_gradients(self, mean: Tensor) -> Iterable[Tensor] | None:
        gradients = self.problem.node_gradients(mean)
        return None if gradients is None else (self._with(gradient, mean) for gradient in gradients)

    def node_losses(self, x: Tensor) -> Tensor | None:
        losses = self.problem.node_losses(x)
        return None if losses is None else losses + self.by.value(x)

    def _with(self, gradient: Tensor, x: Tensor) -> Tensor:
        return gradient + self.by.gradient(x) if self.by.smooth else gradient
