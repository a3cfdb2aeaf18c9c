"""The base class of models, which compute with stacked parameters.

A model computes for M parameter vectors at once, each with its own inputs. All nodes and replicas are thus one batched
tensor program.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.layout import Layout
from bench.base.registry import models
from bench.models.traced import Traced


def model(name: str) -> Callable[[type[Model]], type[Model]]:
    """Register a model. A decorator for a subclass of ``Model``. For a ``torch.nn.Module`` use ``torch_model``.

    Args:
        name: The name on the command line, ``model=NAME``. Parameters of the constructor with a default are options.

    Example:
        >>> @model("quadratic")
        ... class Quadratic(Model):
        ...     def __init__(self, inputs, classes):
        ...         self.layout = Layout({"out.weight": (math.prod(inputs), classes)})
        ...     def forward(self, p, x):
        ...         return x.flatten(2).square() @ p["out.weight"]
    """
    return models.register(name)


Pullback = Callable[[Tensor], Tensor]
"""From the gradient with respect to the outputs, (M, B, *outputs), to that of the parameters, (M, P)."""


class Model(ABC):
    """Base class of models: outputs from inputs, for M parameter vectors at once. See ``model`` for an example.

    Attributes:
        layout: The names and shapes of the parameters. A layer's tensors are ``LAYER.weight`` and ``LAYER.bias``.
        floats: About how many numbers per sample are kept for the gradient. It decides the size of batches.
        tokens: True if inputs must be tokens of a text, False if they must be numbers, None if both are allowed.
        notes: Lines about how the model is computed, for the terminal and the manifest.
    """

    layout: Layout
    floats: int = 1000
    tokens: bool | None = None
    notes: tuple[str, ...] = ()

    @abstractmethod
    def __init__(self, inputs: tuple[int, ...], classes: int) -> None:
        """Create the model for the shape of one input, and the number of classes or of predicted numbers."""

    @abstractmethod
    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Return the outputs, (M, B, *outputs), such as the logits (M, B, classes).

        Args:
            p: The parameters by name, each (M, *shape).
            x: The inputs, (M, B, *inputs).
        """

    def linearize(self, x: Tensor, inputs: Tensor) -> tuple[Tensor, Pullback]:
        """Return the outputs at parameters (M, P) and inputs (M, B, *inputs), and their pullback.

        The default uses autograd; override it for speed.
        """
        key = x.shape, x.dtype, x.device, inputs.shape, inputs.stride(), inputs.dtype
        if key not in self._traces:
            try:
                self._traces[key] = Traced(lambda p, i: self.forward(self.unpack(p), i), x, inputs)
            except Exception:  # a model that cannot be traced uses autograd in every call
                self._traces[key] = self._differentiated
        return self._traces[key](x, inputs)

    @cached_property
    def _traces(self) -> dict[Any, Callable[[Tensor, Tensor], tuple[Tensor, Pullback]]]:
        return {}

    def _differentiated(self, x: Tensor, inputs: Tensor) -> tuple[Tensor, Pullback]:
        with torch.inference_mode(False), torch.enable_grad():
            leaf = x.clone().requires_grad_()  # a clone made here is not an inference tensor
            out = self.forward(self.unpack(leaf), inputs.clone() if inputs.is_inference() else inputs)

        def pull(delta: Tensor) -> Tensor:
            with torch.inference_mode(False), torch.enable_grad():
                return torch.autograd.grad(out, leaf, delta.clone())[0]

        return out.detach(), pull

    def refuse(self, x: Tensor) -> None:  # noqa: B027
        """Raise ``UserError`` if the model does not suit the data; ``x`` are two inputs, in float64."""

    @classmethod
    def sources(cls, **options: Any) -> list[object]:
        """Return further classes, functions and files (Path) whose content is part of the run's fingerprint."""
        return []

    def initial(self, g: np.random.Generator) -> np.ndarray:
        """Return initial parameters, (P,). The default draws uniformly from ±1/√fan_in, as PyTorch does."""
        parts = []
        for name, shape in self.layout.shapes.items():
            layer = name.rpartition(".")[0]
            bound = 1 / np.sqrt(fan_in(self.layout.shapes[f"{layer}.weight"]))
            parts.append(g.uniform(-bound, bound, int(np.prod(shape))))
        return np.concatenate(parts)

    def unpack(self, x: Tensor) -> dict[str, Tensor]:
        """Return views of parameter vectors (M, P) as the model's tensors, by name."""
        shapes = self.layout.shapes
        # one node of the autograd graph, unlike slices; x.split takes twice the time
        parts = x.split_with_sizes(self.layout.sizes, dim=1)
        return {
            name: part if len(shape) == 1 else part.view(-1, *shape)
            for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }


def fan_in(weight: tuple[int, ...]) -> int:
    """Return the number of inputs of one output: dense weights are (in, out), convolutions (out, in, h, w)."""
    return weight[0] if len(weight) == 2 else int(np.prod(weight[1:]))
