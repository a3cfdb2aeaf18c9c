"""Models written for stacked parameters.

A model computes for M parameter vectors at once, each with inputs of its own: batched products over
the M axis and plain autograd, so that all nodes and replicas are one tensor program.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from bench.algorithm import Layout
from bench.options import Count
from bench.registry import models


def model(name: str) -> Callable[[type[Model]], type[Model]]:
    """Register a model: a class made from the shape of one input and the number of classes."""
    return models.register(name)


class Model(ABC):
    """Logits from inputs, for M parameter vectors side by side."""

    layout: Layout

    @abstractmethod
    def __init__(self, inputs: tuple[int, ...], classes: int) -> None: ...

    @abstractmethod
    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Logits (M, B, classes) from tensors (M, *shape) and inputs (M, B, *inputs)."""

    def initial(self, g: np.random.Generator) -> np.ndarray:
        """One parameter vector: every tensor of a layer uniform in ±1/√fan_in, PyTorch's usual."""
        parts = []
        for name, shape in self.layout.shapes.items():
            layer = name.rpartition(".")[0]
            bound = 1 / np.sqrt(fan_in(self.layout.shapes[f"{layer}.weight"]))
            parts.append(g.uniform(-bound, bound, int(np.prod(shape))))
        return np.concatenate(parts)

    def unpack(self, x: Tensor) -> dict[str, Tensor]:
        """Views of (M, P) as the model's tensors."""
        slices, shapes = self.layout.slices, self.layout.shapes
        return {name: x[:, part].unflatten(1, shapes[name]) for name, part in slices.items()}


def fan_in(weight: tuple[int, ...]) -> int:
    """Numbers that one output is made of: dense weights are (in, out), convolutions (out, in, height, width)."""
    return weight[0] if len(weight) == 2 else int(np.prod(weight[1:]))


def dense(p: Mapping[str, Tensor], layer: str, x: Tensor) -> Tensor:
    """x A + b for (M, B, in) inputs."""
    return torch.baddbmm(p[f"{layer}.bias"].unsqueeze(1), x, p[f"{layer}.weight"])


def dense_shapes(layer: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{layer}.weight": (inputs, outputs), f"{layer}.bias": (outputs,)}


@model("linear")
class Linear(Model):
    """Multinomial logistic regression."""

    def __init__(self, inputs: tuple[int, ...], classes: int) -> None:
        self.layout = Layout(dense_shapes("out", int(np.prod(inputs)), classes))

    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        return dense(p, "out", x.flatten(2))


@model("mlp")
class Perceptron(Model):
    """in → hidden, tanh → classes"""

    def __init__(self, inputs: tuple[int, ...], classes: int, hidden: Count = 64) -> None:
        shapes = dense_shapes("hidden", int(np.prod(inputs)), hidden) | dense_shapes("out", hidden, classes)
        self.layout = Layout(shapes)

    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        return dense(p, "out", torch.tanh(dense(p, "hidden", x.flatten(2))))
