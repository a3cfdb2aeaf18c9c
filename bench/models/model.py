"""Models written for stacked parameters.

A model computes for M parameter vectors at once, each with inputs of its own: batched products over
the M axis, so that all nodes and replicas are one tensor program.
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
    """Register a model: a class made from the shape of one input and the number of classes."""
    return models.register(name)


Pullback = Callable[[Tensor], Tensor]
"""From the gradient of a function of the logits, (M, B, classes), to that of the parameters, (M, P)."""


class Model(ABC):
    """Logits from inputs, for M parameter vectors side by side."""

    layout: Layout
    floats: int = 1000
    """About how many numbers are kept per sample between logits and gradient: decides the size of pieces."""

    tokens: bool | None = None
    """Whether its inputs are tokens of a text (True) or numbers (False); None: it may take both."""
    notes: tuple[str, ...] = ()
    """What a user must know of how it is computed, a line each: for the terminal and the manifest."""

    @abstractmethod
    def __init__(self, inputs: tuple[int, ...], classes: int) -> None: ...

    @abstractmethod
    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Logits (M, B, classes) from tensors (M, *shape) and inputs (M, B, *inputs)."""

    def linearise(self, x: Tensor, inputs: Tensor) -> tuple[Tensor, Pullback]:
        """Outputs at parameters (M, P), and how gradients go back from there: by autograd, unless written out."""
        key = x.shape, x.dtype, x.device, inputs.shape, inputs.stride(), inputs.dtype
        if key not in self._traces:
            try:
                self._traces[key] = Traced(lambda p, i: self.forward(self.unpack(p), i), x, inputs)
            except Exception:  # what cannot be written down is asked every time
                self._traces[key] = self._differentiated
        return self._traces[key](x, inputs)

    @cached_property
    def _traces(self) -> dict[Any, Callable[[Tensor, Tensor], tuple[Tensor, Pullback]]]:
        return {}

    def _differentiated(self, x: Tensor, inputs: Tensor) -> tuple[Tensor, Pullback]:
        with torch.inference_mode(False), torch.enable_grad():
            leaf = x.clone().requires_grad_()  # clones made here are no inference tensors
            out = self.forward(self.unpack(leaf), inputs.clone() if inputs.is_inference() else inputs)

        def pull(delta: Tensor) -> Tensor:
            with torch.inference_mode(False), torch.enable_grad():
                return torch.autograd.grad(out, leaf, delta.clone())[0]

        return out.detach(), pull

    def refuse(self, x: Tensor) -> None:  # noqa: B027
        """A UserError where it cannot serve; ``x`` are two inputs of the data, in double precision."""

    @classmethod
    def sources(cls, **options: Any) -> list[object]:
        """What else its numbers come from, beside the source of its class: classes and functions."""
        return []

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
        shapes = self.layout.shapes
        parts = x.split(self.layout.sizes, dim=1)  # one node of the autograd graph, where slices would be many
        return {name: part.view(-1, *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def fan_in(weight: tuple[int, ...]) -> int:
    """Numbers that one output is made of: dense weights are (in, out), convolutions (out, in, height, width)."""
    return weight[0] if len(weight) == 2 else int(np.prod(weight[1:]))
