"""Losses of a prediction ``out`` for a target ``y``, and the scores that are reported with them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bench.base.errors import UserError
from bench.base.registry import losses
from bench.problem.arrays import Arrays
from bench.problem.problem import Column

L = TypeVar("L", bound="Callable[..., Loss]")


def loss(name: str) -> Callable[[L], L]:
    """Register a loss. A decorator for a subclass of ``Loss``, or for a function from ``Arrays`` to a ``Loss``.

    Args:
        name: The name on the command line, ``loss=NAME``.

    Example:
        >>> @loss("absolute")
        ... class Absolute(Loss):
        ...     outputs = (1,)
        ...     def each(self, out, y):
        ...         return (out[..., 0] - y).abs()
    """
    return losses.register(name)


@dataclass(frozen=True)
class Score:
    """A metric that is measured on test (and validation) samples, the column test_NAME (and val_NAME).

    Attributes:
        label: The name in figures and tables, without "test".
        more_is_better: Whether larger values are better.
        each: From outputs (M, B, …) and targets (M, B, …) to a value per sample, (M, B).
        finish: Applied to the mean over samples, (R,).

    Example:
        >>> Score("accuracy", True, lambda out, y: (out.argmax(-1) == y).double(), lambda mean: 100 * mean)
    """

    label: str
    more_is_better: bool
    each: Callable[[Tensor, Tensor], Tensor]
    finish: Callable[[np.ndarray], np.ndarray] = lambda mean: mean


class Loss(ABC):
    """Base class of losses: from outputs (M, B, *outputs) and targets (M, B, …) of M models to losses (M, B).

    The constructor takes the ``Arrays`` of the run, and raises ``UserError`` if the loss does not suit them.
    See ``loss`` for an example.
    """

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def scores(self) -> dict[str, Score]:
        """Return further test metrics, by the name of the column without test_. Default: none."""
        return {}

    @property
    @abstractmethod
    def outputs(self) -> tuple[int, ...]:
        """The shape of a model's output for one sample."""

    @abstractmethod
    def each(self, out: Tensor, y: Tensor) -> Tensor:
        """Return the loss of every sample, (M, B)."""

    def delta(self, out: Tensor, y: Tensor, weight: Tensor | float) -> Tensor:
        """Return the gradient of Σ weight · loss with respect to ``out``; ``weight`` is a number or (M, B).

        The default uses autograd. Override it with the formula for speed.
        """
        with torch.inference_mode(False), torch.enable_grad():
            leaf = out.clone().requires_grad_()
            total = (self.each(leaf, y.clone()) * (weight.clone() if isinstance(weight, Tensor) else weight)).sum()
            return torch.autograd.grad(total, leaf)[0]


def spread(weight: Tensor | float, out: Tensor) -> Tensor | float:
    """Reshape a weight per sample, (M, B), so that it broadcasts to outputs."""
    return weight.reshape(*weight.shape, *[1] * (out.dim() - 2)) if isinstance(weight, Tensor) else weight


class OfClasses(Loss):
    """Base class of losses for classes, which report the accuracy too."""

    def scores(self) -> dict[str, Score]:
        return {"accuracy": Score("accuracy", True, self.right, lambda mean: 100 * mean)}

    def right(self, out: Tensor, y: Tensor) -> Tensor:
        """Return 1 if the largest output is that of the class; for a text, the fraction of correct positions."""
        hits = (out.argmax(-1) == y).double()
        return hits if hits.dim() == 2 else hits.flatten(2).mean(2)

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        if arrays.classes is None:
            raise UserError("This loss requires classes, but the dataset has numbers as targets. Use loss=squared.")
        self.classes = arrays.classes


@loss("cross_entropy")
class CrossEntropy(OfClasses):
    """−log softmax(out)_y."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        if arrays.train_y.ndim != 1:
            raise UserError(
                "loss=cross_entropy requires one class per sample; a text has one per position. Use loss=next_token."
            )
        self._one_hot = torch.eye(self.classes)

    @property
    def outputs(self) -> tuple[int, ...]:
        return (self.classes,)

    def each(self, out: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(out.mT, y, reduction="none")

    def delta(self, out: Tensor, y: Tensor, weight: Tensor | float) -> Tensor:
        if (self._one_hot.dtype, self._one_hot.device) != (out.dtype, out.device):
            self._one_hot = self._one_hot.to(out)
        return torch.softmax(out, dim=-1).sub_(self._one_hot[y]).mul_(spread(weight, out))


@loss("next_token")
class NextToken(OfClasses):
    """The mean of −log softmax(out)_y over the positions of a text, where y is the next token."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        if arrays.train_y.ndim != 2:
            raise UserError(
                "loss=next_token requires a target for each position of a text; this dataset has one per sample."
            )

    @property
    def outputs(self) -> tuple[int, ...]:
        return (self.arrays.train_y.shape[1], self.classes)

    def each(self, out: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(out.flatten(0, 2), y.flatten(), reduction="none").view(y.shape).mean(-1)

    def delta(self, out: Tensor, y: Tensor, weight: Tensor | float) -> Tensor:
        p = torch.softmax(out, dim=-1)
        p.scatter_add_(-1, y.unsqueeze(-1), p.new_full((), -1.0).expand(*y.shape, 1))
        return p.mul_(spread(weight, out)).div_(y.shape[-1])

    def scores(self) -> dict[str, Score]:
        bits = Score("bits per character", False, self.each, lambda mean: mean / math.log(2))
        return {"bits": bits, **super().scores()}


@loss("logistic")
class Logistic(OfClasses):
    """log(1 + exp(−out)) for class 1, log(1 + exp(out)) for class 0: one output for two classes."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        if self.classes != 2 or arrays.train_y.ndim != 1:
            raise UserError(
                f"loss=logistic requires two classes; this dataset has {self.classes}. Use loss=cross_entropy."
            )

    @property
    def outputs(self) -> tuple[int, ...]:
        return (1,)

    def each(self, out: Tensor, y: Tensor) -> Tensor:
        return F.softplus(out[..., 0] * (1 - 2 * y).to(out.dtype))

    def delta(self, out: Tensor, y: Tensor, weight: Tensor | float) -> Tensor:
        return (torch.sigmoid(out) - y.to(out.dtype).unsqueeze(-1)).mul_(spread(weight, out))

    def right(self, out: Tensor, y: Tensor) -> Tensor:
        return ((out[..., 0] > 0) == (y == 1)).double()


@loss("squared")
class Squared(Loss):
    """(out − y)², summed over the predicted numbers."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        if arrays.classes is not None:
            raise UserError(
                "loss=squared requires numbers as targets, but this dataset has classes. Use loss=cross_entropy."
            )

    @property
    def outputs(self) -> tuple[int, ...]:
        return (int(np.prod(self.arrays.train_y.shape[1:])),)

    def _apart(self, out: Tensor, y: Tensor) -> Tensor:
        return out - y.view(out.shape).to(out.dtype)

    def each(self, out: Tensor, y: Tensor) -> Tensor:
        return self._apart(out, y).square().sum(-1)

    def delta(self, out: Tensor, y: Tensor, weight: Tensor | float) -> Tensor:
        return self._apart(out, y).mul_(2).mul_(spread(weight, out))

    def scores(self) -> dict[str, Score]:
        unit, numbers = self.arrays.unit, self.outputs[0]
        return {"rmse": Score("RMSE", False, self.each, lambda mean: unit * np.sqrt(mean / numbers))}


@loss("usual")
def usual(arrays: Arrays) -> Loss:
    """Return the default loss for these targets: squared, cross-entropy or next-token."""
    if arrays.classes is None:
        return Squared(arrays)
    return CrossEntropy(arrays) if arrays.train_y.ndim == 1 else NextToken(arrays)


def columns(loss: Loss, validation: bool) -> dict[str, Column]:
    """Return the metrics on test and validation samples, without test loss and accuracy, which all runs have."""
    scores = {name: Column(score.label, score.more_is_better, score.finish) for name, score in loss.scores().items()}
    found = {f"test_{name}": replace(c, label=f"test {c.label}") for name, c in scores.items() if name != "accuracy"}
    if validation:
        found["val_loss"] = Column("validation loss", False)
        found |= {f"val_{name}": replace(c, label=f"validation {c.label}") for name, c in scores.items()}
    return found
