"""A problem: gradients for the hosted nodes, and what is measured at the average point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.layout import Layout
from bench.base.prox import Prox
from bench.base.randomness import EVERYONE, generator
from bench.base.registry import datasets, recipes
from bench.data.recipe import Recipe

D = TypeVar("D")


def dataset(name: str, recipe: Recipe | None = None) -> Callable[[D], D]:
    """Register a dataset under ``name``: a Problem of its own, or a function that returns Arrays.

    With a recipe, the function is given the prepared arrays that the recipe makes.
    """
    if recipe is not None:
        recipes.add(name, recipe)
    return datasets.register(name)


@dataclass(frozen=True)
class Setting:
    """Who computes what: the part of a run that every problem needs to know."""

    nodes: int
    hosted: range  # the nodes of this process
    seeds: tuple[int, ...]  # one per replica
    batch_size: int
    dtype: torch.dtype
    device: torch.device

    @cached_property
    def distinct_seeds(self) -> tuple[int, ...]:
        """Replicas with one seed see the same samples: these are drawn once."""
        return tuple(dict.fromkeys(self.seeds))

    @cached_property
    def _seed_of_replica(self) -> Tensor:
        return torch.tensor([self.distinct_seeds.index(seed) for seed in self.seeds], device=self.device)

    def per_replica(self, by_seed: Tensor) -> Tensor:
        """From one entry per distinct seed, in the first axis, to one per replica."""
        if self.seeds == self.distinct_seeds:
            return by_seed
        return by_seed.index_select(0, self._seed_of_replica)

    def draw(
        self,
        purpose: str,
        function: Callable[[np.random.Generator], np.ndarray],
        block: int = 0,
        nodes: range | None = None,
    ) -> np.ndarray:
        """``function(generator)`` for every distinct seed and hosted node: (seeds, k, …), float64."""
        nodes = self.hosted if nodes is None else nodes
        rows = [[function(generator(seed, node, purpose, block)) for node in nodes] for seed in self.distinct_seeds]
        return np.stack([np.stack(row) for row in rows])

    def draw_shared(self, purpose: str, function: Callable[[np.random.Generator], np.ndarray]) -> np.ndarray:
        """``function(generator)`` for every distinct seed, the same for all nodes: (seeds, …), float64."""
        return self.draw(purpose, function, nodes=range(EVERYONE, EVERYONE + 1))[:, 0]

    def exact(self, by_seed: np.ndarray) -> Tensor:
        """Numbers as they are, on the device: one entry per replica, from one per distinct seed."""
        return self.per_replica(torch.as_tensor(by_seed, device=self.device))

    def tensor(self, values: np.ndarray) -> Tensor:
        """Numbers of the run's type, on its device."""
        return self.move(values, self.dtype)

    def move(self, values: np.ndarray, dtype: torch.dtype | None = None) -> Tensor:
        """To the device; a GPU goes on computing meanwhile."""
        here = torch.as_tensor(np.ascontiguousarray(values), dtype=dtype)
        return here.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else here


@dataclass(frozen=True)
class Evaluation:
    """This process's share of f, ∇f and the test metrics at x̄: shares add up over processes."""

    train_loss: Tensor  # (R,), float64
    test_loss: Tensor  # (R,), float64
    test_correct: Tensor | None  # (R,) fraction right, not finite where the logits are not
    gradient: Tensor  # (R, P), float64
    also: Mapping[str, Tensor] = field(default_factory=dict)  # (R,) each: columns of their own, as Problem.columns says

    def flat(self) -> Tensor:
        """All shares in one (R, q) tensor, for one exchange."""
        scalars = [self.train_loss, self.test_loss, self.test_correct, *self.also.values()]
        return torch.cat([*(s[:, None] for s in scalars if s is not None), self.gradient], dim=1)

    def unflat(self, flat: Tensor) -> Evaluation:
        """The inverse of ``flat``, with the same parts present."""
        train, test, *rest = flat[:, : -self.gradient.shape[1]].unbind(1)
        correct = None if self.test_correct is None else rest.pop(0)
        also = dict(zip(self.also, rest, strict=True))
        return Evaluation(train, test, correct, flat[:, -self.gradient.shape[1] :], also)


@dataclass(frozen=True)
class Column:
    """What a problem measures of its own: what it is called, which way is up, and what is made of the mean."""

    label: str
    more_is_better: bool
    finish: Callable[[np.ndarray], np.ndarray] = lambda mean: mean


class Problem(ABC):
    """f(x) = (1/n) Σ f_i(x), seen through mini-batches. The mean is over nodes, not over samples."""

    layout: Layout
    epoch_size: int | None = None  # samples in the training set; None for a stream
    autograd: bool = True  # whether grad() differentiates; one that does not runs faster, in inference mode
    columns: Mapping[str, Column] = MappingProxyType({})  # what evaluate() gives under ``also``
    prox: Prox | None = None  # of r, where the objective is f + r and r has no gradient

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @property
    def work(self) -> int:
        """About how many numbers a gradient needs per node and replica, besides parameters."""
        return self.setting.batch_size * self.layout.size

    @abstractmethod
    def start(self) -> Tensor:
        """X⁰ of the hosted nodes: (R, k, P)."""

    @abstractmethod
    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        """Mini-batch gradients of the hosted nodes at x on sample s: (R, k, P)."""

    def full(self, x: Tensor) -> Tensor:
        """Gradients of the hosted nodes at x on all that each of them holds: (R, k, P)."""
        raise UserError("The method asks for gradients on all data of a node, which this dataset does not have.")

    @abstractmethod
    def evaluate(self, mean: Tensor) -> Evaluation:
        """This process's share of the metrics at x̄, given as (R, P)."""

    def node_gradients(self, mean: Tensor) -> Iterable[Tensor] | None:
        """∇f_i(x̄) of each hosted node in turn, (R, P) in float64, where the problem can tell."""
        return None


def hosted_share(setting: Setting) -> float:
    """The part of the nodes that this process hosts: its share of what is the same at every node."""
    return len(setting.hosted) / setting.nodes


def vector_layout(size: int) -> Layout:
    return Layout({"theta": (size,)})
