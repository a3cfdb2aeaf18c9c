"""What is lost when a model gives ``out`` and ``y`` was to be predicted, and what else is said of it."""

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
    """Register a loss: it is made from the Arrays that it is to be used on, and may refuse them."""
    return losses.register(name)


@dataclass(frozen=True)
class Score:
    """A column beside the loss, test_NAME (and val_NAME): something of each sample, averaged, and made a number of."""

    label: str
    more_is_better: bool
    each: Callable[[Tensor, Tensor], Tensor]  # from outputs (M, B, …) and targets to (M, B)
    finish: Callable[[np.ndarray], np.ndarray] = lambda mean: mean


class Loss(ABC):
    """From outputs (M, B, *outputs) and targets (M, B, …) of M models to what each sample loses."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def scores(self) -> dict[str, Score]:
        """What else is measured on samples that no node trains on, by the name of its column after test_."""
        return {}

    @property
    @abstractmethod
    def outputs(self) -> tuple[int, ...]:
        """The shape of what a model gives for one sample."""

    @abstractmethod
    def each(self, out: Tensor, y: Tensor) -> Tensor:
        """The loss of every sample, (M, B)."""

    def delta(self, out: Tensor, y: Tensor, weight: Tensor | float) -> Tensor:
        """The gradient in ``out`` of the losses' sum, weighted by a number or by (M, B): by autograd, unless written
        out."""
        with torch.inference_mode(False), torch.enable_grad():
            leaf = out.clone().requires_grad_()
            total = (self.each(leaf, y.clone()) * (weight.clone() if isinstance(weight, Tensor) else weight)).sum()
            return torch.autograd.grad(total, leaf)[0]


def spread(weight: Tensor | float, out: Tensor) -> Tensor | float:
    """A weight per sample, (M, B), to be multiplied with outputs."""
    return weight.reshape(*weight.shape, *[1] * (out.dim() - 2)) if isinstance(weight, Tensor) else weight


class OfClasses(Loss):
    """For targets that are classes: how many are right is told as well."""

    def scores(self) -> dict[str, Score]:
        return {"accuracy": Score("accuracy", True, self.right, lambda mean: 100 * mean)}

    def right(self, out: Tensor, y: Tensor) -> Tensor:
        """1 where the largest output is that of the class; of a text, the part of its places where it is."""
        hits = (out.argmax(-1) == y).double()
        return hits if hits.dim() == 2 else hits.flatten(2).mean(2)

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        if arrays.classes is None:
            raise UserError("This loss is for classes, and the dataset has numbers to predict: use loss=squared.")
        self.classes = arrays.classes


@loss("cross_entropy")
class CrossEntropy(OfClasses):
    """−log softmax(out)_y"""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        if arrays.train_y.ndim != 1:
            raise UserError("loss=cross_entropy predicts one class a sample; a text has one a place: loss=next_token.")
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
    """The mean over the places of a text of −log softmax(out)_y, where y is what stands there next."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        if arrays.train_y.ndim != 2:
            raise UserError("loss=next_token predicts a token at each place of a text; this dataset has one target.")

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
            raise UserError(f"loss=logistic is for two classes; this dataset has {self.classes}: loss=cross_entropy.")

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
    """(out − y)², summed over what is predicted."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        if arrays.classes is not None:
            raise UserError("loss=squared predicts numbers, and this dataset has classes: use loss=cross_entropy.")

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
    """The one that goes with what is to be predicted."""
    if arrays.classes is None:
        return Squared(arrays)
    return CrossEntropy(arrays) if arrays.train_y.ndim == 1 else NextToken(arrays)


def columns(loss: Loss, validation: bool) -> dict[str, Column]:
    """What is measured on samples that no node trains on, beside the test loss and accuracy that every run may have."""
    scores = {name: Column(score.label, score.more_is_better, score.finish) for name, score in loss.scores().items()}
    found = {f"test_{name}": replace(c, label=f"test {c.label}") for name, c in scores.items() if name != "accuracy"}
    if validation:
        found["val_loss"] = Column("validation loss", False)
        found |= {f"val_{name}": replace(c, label=f"validation {c.label}") for name, c in scores.items()}
    return found
