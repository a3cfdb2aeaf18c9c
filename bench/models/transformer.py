"""A small transformer that predicts the next token at each position of a text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from bench.base.errors import UserError
from bench.base.layout import Layout
from bench.base.options import Count
from bench.models.dense import dense
from bench.models.layers import attention, embedding, layer_norm
from bench.models.model import Model, model


@model("transformer")
class Transformer(Model):
    """Embeddings of tokens and positions; ``layers`` of causal attention and a perceptron of 4·width with GELU, each
    after a norm and with a residual connection; a norm, dense → vocabulary. As GPT-2, without dropout."""

    tokens = True

    def __init__(
        self, inputs: tuple[int, ...], classes: int, layers: Count = 2, width: Count = 128, heads: Count = 4
    ) -> None:
        if len(inputs) != 1:
            raise UserError(
                f"model=transformer needs texts, with one row of tokens per sample; got inputs of shape {inputs}."
            )
        if width % heads:
            raise UserError(f"model.heads must divide model.width={width}; got {heads}.")
        self._heads, self._vocabulary, (self._context,) = heads, classes, inputs
        self._layers = [f"layer{i + 1}" for i in range(layers)]
        shapes: dict[str, tuple[int, ...]] = {"token.table": (classes, width), "place.table": (self._context, width)}
        for layer in self._layers:
            shapes |= _norm(f"{layer}.norm1", width) | _dense(f"{layer}.qkv", width, 3 * width)
            shapes |= _dense(f"{layer}.mixed", width, width) | _norm(f"{layer}.norm2", width)
            shapes |= _dense(f"{layer}.wide", width, 4 * width) | _dense(f"{layer}.narrow", 4 * width, width)
        self.layout = Layout({**shapes, **_norm("norm", width), **_dense("out", width, classes)})
        self.floats = self._context * (layers * KEPT * width + 4 * width + 2 * classes)

    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        m, batch, _ = x.shape
        y = (self._embedded(p, x).view(m, batch, self._context, -1) + p["place.table"].unsqueeze(1)).flatten(1, 2)
        for layer in self._layers:
            seen = attention(dense(p, f"{layer}.qkv", _normed(p, f"{layer}.norm1", y)), batch, self._heads)
            y = y + dense(p, f"{layer}.mixed", seen)
            wide = F.gelu(dense(p, f"{layer}.wide", _normed(p, f"{layer}.norm2", y)))
            y = y + dense(p, f"{layer}.narrow", wide)
        return dense(p, "out", _normed(p, "norm", y)).view(m, batch, self._context, -1)

    def _embedded(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        try:
            return embedding(x.flatten(1), p["token.table"])
        except IndexError as error:
            raise UserError(_beyond(int(x.max()), self._vocabulary)) from error

    def refuse(self, x: Tensor) -> None:
        if x.max() >= self._vocabulary:
            raise UserError(_beyond(int(x.max()), self._vocabulary))

    def initial(self, g: np.random.Generator) -> np.ndarray:
        """Draw tables and matrices with standard deviation 0.02, less for residual outputs; norms are the identity."""
        return np.concatenate([self._start(name, shape, g) for name, shape in self.layout.shapes.items()])

    def _start(self, name: str, shape: tuple[int, ...], g: np.random.Generator) -> np.ndarray:
        size = int(np.prod(shape))
        if len(shape) == 1:
            return np.ones(size) if name.endswith("weight") else np.zeros(size)
        added = name.endswith(("mixed.weight", "narrow.weight"))
        return g.normal(0.0, SD / np.sqrt(2 * len(self._layers)) if added else SD, size)


SD = 0.02
KEPT = 20
"""Numbers kept for the gradient per layer and entry of a position: norms, q, k, v, perceptron and sums."""


def _beyond(token: int, vocabulary: int) -> str:
    return f"model=transformer takes the tokens 0 … {vocabulary - 1}, the classes of the targets; got {token}."


def _norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def _dense(name: str, width: int, out: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width, out), f"{name}.bias": (out,)}


def _normed(p: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    return layer_norm(x, p[f"{name}.weight"], p[f"{name}.bias"])
