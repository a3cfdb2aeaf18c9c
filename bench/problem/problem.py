"""The base class of problems: gradients for the hosted nodes, and metrics at the average point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.layout import Layout
from bench.base.prox import Prox
from bench.base.registry import datasets, recipes
from bench.data.recipe import Recipe
from bench.problem.setting import Setting

D = TypeVar("D")


def dataset(name: str, recipe: Recipe | None = None) -> Callable[[D], D]:
    """Register a dataset. A decorator for a function that returns ``Arrays``, or for a subclass of ``Problem``.

    Parameters with a default are options, ``dataset.NAME`` on the command line. A ``Problem`` takes the ``Setting`` as
    its first argument. A function with a recipe takes the prepared arrays as its first argument.

    Args:
        name: The name on the command line, ``dataset=NAME``.
        recipe: How to fetch the raw data, if the function cannot generate it.

    Example:
        >>> @dataset("blobs")
        ... def blobs(samples: Count = 400) -> Arrays:
        ...     y = np.arange(samples) % 2
        ...     x = np.random.default_rng(0).standard_normal((samples, 2)) + 3 * y[:, None]
        ...     return Arrays(x[::2], y[::2], x[1::2], y[1::2], classes=2)
    """
    if recipe is not None:
        recipes.add(name, recipe)
    return datasets.register(name)


@dataclass(frozen=True)
class Evaluation:
    """This process's share of f, ∇f and the test metrics at x̄. The shares of all processes are summed.

    Attributes:
        train_loss: The share of f(x̄), (R,), float64.
        test_loss: The share of the test loss, (R,), float64.
        test_correct: The share of the fraction of correct predictions, (R,), or None if there are no classes.
            Not finite if the logits are not.
        gradient: The share of ∇f(x̄), (R, P), float64.
        also: Further metrics by the names in ``Problem.columns``, (R,) each.

    Example:
        >>> share = hosted_share(setting)
        >>> Evaluation(share * loss, share * loss, None, share * gradient)
    """

    train_loss: Tensor
    test_loss: Tensor
    test_correct: Tensor | None
    gradient: Tensor
    also: Mapping[str, Tensor] = field(default_factory=dict)

    def flat(self) -> Tensor:
        """Return all shares as one (R, q) tensor, for one exchange between processes."""
        scalars = [self.train_loss, self.test_loss, self.test_correct, *self.also.values()]
        return torch.cat([*(s[:, None] for s in scalars if s is not None), self.gradient], dim=1)

    def unflat(self, flat: Tensor) -> Evaluation:
        """Return the evaluation that ``flat`` encodes, with the same parts present."""
        train, test, *rest = flat[:, : -self.gradient.shape[1]].unbind(1)
        correct = None if self.test_correct is None else rest.pop(0)
        also = dict(zip(self.also, rest, strict=True))
        return Evaluation(train, test, correct, flat[:, -self.gradient.shape[1] :], also)


@dataclass(frozen=True)
class Column:
    """A metric that a problem adds to those of all runs.

    Attributes:
        label: The name in figures and tables.
        more_is_better: Whether larger values are better. None: neither.
        finish: Applied to the sum over processes, (R,), such as a root or a factor for the unit.

    Example:
        >>> Column("RMSE", more_is_better=False, finish=np.sqrt)
    """

    label: str
    more_is_better: bool | None
    finish: Callable[[np.ndarray], np.ndarray] = lambda mean: mean


class Problem(ABC):
    """Base class of problems f(x) = (1/n) Σ f_i(x). The mean is over nodes, not over samples.

    Define ``layout``, ``start``, ``grad`` and ``evaluate`` for the hosted nodes, and decorate with ``@dataset``.
    Datasets that return ``Arrays`` need no subclass.

    Attributes:
        layout: Where each tensor lies in the vector of P parameters; ``vector_layout(P)`` for one vector.
        epoch_size: Samples in the training set; None for a stream.
        autograd: Whether ``grad`` uses autograd. If False, the run uses the faster inference mode.
        columns: The metrics that ``evaluate`` returns in ``also``.
        network_columns: Those that it adds if the setting has the rates of the nodes.
        prox: The proximal step of r if the objective is f + r with a nonsmooth r.
        setting: Nodes, seeds, batch size, dtype and device of the run.

    Example:
        >>> @dataset("bowl")
        ... class Bowl(Problem):
        ...     layout = vector_layout(3)
        ...     def start(self):
        ...         return torch.ones(len(self.setting.seeds), len(self.setting.hosted), 3, dtype=self.setting.dtype)
        ...     def grad(self, x, s, stream=0):
        ...         return x
        ...     def evaluate(self, mean):
        ...         share, x = hosted_share(self.setting), mean.double()
        ...         loss = share * x.square().sum(-1) / 2
        ...         return Evaluation(loss, loss, None, share * x)
    """

    layout: Layout
    epoch_size: int | None = None
    autograd: bool = True
    columns: Mapping[str, Column] = MappingProxyType({})
    network_columns: Mapping[str, Column] = MappingProxyType({})
    prox: Prox | None = None

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @property
    def work(self) -> int:
        """About how many numbers a gradient needs per node and replica, in addition to the parameters."""
        return self.setting.batch_size * self.layout.size

    @abstractmethod
    def start(self) -> Tensor:
        """Return the initial points X⁰ of the hosted nodes, (R, k, P)."""

    @abstractmethod
    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        """Return mini-batch gradients of the hosted nodes at x, (R, k, P).

        Args:
            x: The points, (R, k, P).
            s: The sample number, from 0. The same number must give the same mini-batch.
            stream: An independent sequence of mini-batches.
        """

    def full(self, x: Tensor) -> Tensor:
        """Return the gradients of the hosted nodes at x, (R, k, P), on all data of each.

        Raises:
            UserError: The problem has no full gradient, which is the default.
        """
        raise UserError("The method needs gradients on all data of a node, which this dataset does not provide.")

    @abstractmethod
    def evaluate(self, mean: Tensor) -> Evaluation:
        """Return this process's share of the metrics at the average points ``mean``, (R, P)."""

    def node_gradients(self, mean: Tensor) -> Iterable[Tensor] | None:
        """Yield ∇f_i(x̄) of each hosted node, (R, P), float64; None if the problem has no exact gradients."""
        return None

    def node_losses(self, x: Tensor) -> Tensor | None:
        """Return the loss of the whole network at the points x of the hosted nodes, from (R, k, P) to (R, k), float64.

        None, the default: the runs have no node_loss.
        """
        return None


def vector_layout(size: int) -> Layout:
    """Return the layout of a problem whose P = ``size`` parameters form one vector."""
    return Layout({"theta": (size,)})
