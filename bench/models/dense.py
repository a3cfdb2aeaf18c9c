"""Models of dense layers: linear, and a perceptron with one hidden layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from bench.base.layout import Layout
from bench.base.options import Count
from bench.models.model import Model, Pullback, model
from bench.models.products import affine, product


def dense(p: Mapping[str, Tensor], layer: str, x: Tensor) -> Tensor:
    """Return x A + b for inputs (M, B, in)."""
    return torch.baddbmm(p[f"{layer}.bias"].unsqueeze(1), x, p[f"{layer}.weight"])


class DenseModel(Model):
    """Dense layers with tanh between them.

    The gradient is written out, because autograd costs 0.2 ms per call, most of the time of one small network.
    """

    tokens = False

    def __init__(self, inputs: tuple[int, ...], classes: int, widths: Sequence[int]) -> None:
        ends = [int(np.prod(inputs)), *widths, classes]
        self._layers = [*(f"hidden{i}" for i in range(1, len(ends) - 1)), "out"]
        shapes: dict[str, tuple[int, ...]] = {}
        for layer, size_in, size_out in zip(self._layers, ends[:-1], ends[1:], strict=True):
            shapes |= {f"{layer}.weight": (size_in, size_out), f"{layer}.bias": (size_out,)}
        self.layout = Layout(shapes)
        self.floats = 2 * sum(ends)

    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        x = x.flatten(2)
        for layer in self._layers[:-1]:
            x = torch.tanh(dense(p, layer, x))
        return dense(p, "out", x)

    def linearize(self, x: Tensor, inputs: Tensor) -> tuple[Tensor, Pullback]:
        p = self.unpack(x)
        sources = [inputs.flatten(2)]
        for layer in self._layers[:-1]:
            sources.append(affine(sources[-1], p[f"{layer}.weight"], p[f"{layer}.bias"]).tanh_())

        def pull(delta: Tensor) -> Tensor:
            out = torch.empty_like(x)
            g = self.unpack(out)
            for layer, source in zip(reversed(self._layers), reversed(sources), strict=True):
                delta = dense_back(p, g, layer, source, delta, last=layer == self._layers[0])
            return out

        return affine(sources[-1], p["out.weight"], p["out.bias"]), pull


def dense_back(
    p: Mapping[str, Tensor], g: Mapping[str, Tensor], layer: str, source: Tensor, delta: Tensor, last: bool = False
) -> Tensor:
    """Write the gradient of a dense layer into ``g``; return the gradient before the tanh, unless it is the last."""
    product(source.mT, delta, out=g[f"{layer}.weight"])
    torch.sum(delta, dim=1, out=g[f"{layer}.bias"])
    return delta if last else tanh_back(product(delta, p[f"{layer}.weight"].mT), source)


tanh_back = torch.ops.aten.tanh_backward
"""From the gradient after a tanh and the output of the tanh to the gradient before it."""


@model("linear")
class Linear(DenseModel):
    """Multinomial logistic regression."""

    def __init__(self, inputs: tuple[int, ...], classes: int) -> None:
        super().__init__(inputs, classes, [])


@model("mlp")
class Perceptron(DenseModel):
    """in → hidden, tanh → classes"""

    def __init__(self, inputs: tuple[int, ...], classes: int, hidden: Count = 64) -> None:
        super().__init__(inputs, classes, [hidden])
