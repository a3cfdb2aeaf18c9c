"""ResNet-20, the network of He et al. for CIFAR-10, with GroupNorm, because BatchNorm has a state."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bench.base.errors import UserError
from bench.base.layout import Layout
from bench.base.options import Count
from bench.models.dense import dense
from bench.models.layers import apart, conv, group_norm, image, side_by_side
from bench.models.model import Model, fan_in, model

STAGES, BLOCKS = 3, 3


@model("resnet20")
class ResNet20(Model):
    """conv 3×3 → 16, three stages of three blocks with 16, 32, 64 channels, mean over the image, dense → classes.

    A block is x + norm(conv(relu(norm(conv(x))))), then relu. Between stages the shortcut takes every other pixel and
    fills up with zero channels (the paper's option A), so that it has no parameters. Every norm has ``groups`` groups.
    """

    tokens = False

    def __init__(self, inputs: tuple[int, ...], classes: int, width: Count = 16, groups: Count = 2) -> None:
        self._image, self._groups = image("resnet20", inputs, 2 ** (STAGES - 1)), groups
        if width % groups:
            raise UserError(f"model.groups must divide model.width={width}; got {groups}.")
        shapes = _conv("first", self._image[0], width)
        _, rows, columns = self._image
        self.floats, before = 2 * width * rows * columns, width
        self._blocks: list[tuple[str, int]] = []
        for stage in range(STAGES):
            after = width * 2**stage
            for block in range(BLOCKS):
                name, stride = f"stage{stage + 1}.block{block + 1}", 2 if stage and not block else 1
                shapes |= _conv(f"{name}.a", before, after) | _conv(f"{name}.b", after, after)
                rows, columns, before = -(-rows // stride), -(-columns // stride), after
                self._blocks.append((name, stride))
                self.floats += KEPT * after * rows * columns
        self.layout = Layout({**shapes, "out.weight": (before, classes), "out.bias": (classes,)})

    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        m = len(x)
        y = torch.relu(self._normed(p, "first", side_by_side(x, self._image[0])))
        for name, stride in self._blocks:
            inner = torch.relu(self._normed(p, f"{name}.a", y, stride))
            y = torch.relu(self._normed(p, f"{name}.b", inner) + (y if stride == 1 else shortcut(y, m, stride)))
        return dense(p, "out", apart(y.mean((2, 3)), m))

    def _normed(self, p: Mapping[str, Tensor], name: str, x: Tensor, stride: int = 1) -> Tensor:
        """Apply a convolution and its norm."""
        out = conv(x, p[f"{name}.conv.weight"], stride=stride, padding=1)
        return group_norm(out, self._groups, p[f"{name}.norm.weight"], p[f"{name}.norm.bias"])

    def initial(self, g: np.random.Generator) -> np.ndarray:
        """Draw kernels with variance 2/fan_out, as He et al.; norms are the identity; dense layers as by default."""
        return np.concatenate([_start(name, shape, g) for name, shape in self.layout.shapes.items()])


KEPT = 4
"""Numbers kept for the gradient per output of a block: of its two convolutions and its two relus."""


def _conv(name: str, channels: int, out: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.conv.weight": (out, channels, 3, 3), f"{name}.norm.weight": (out,), f"{name}.norm.bias": (out,)}


def _start(name: str, shape: tuple[int, ...], g: np.random.Generator) -> np.ndarray:
    size = int(np.prod(shape))
    if name.endswith("conv.weight"):
        return g.normal(0.0, np.sqrt(2 / (shape[0] * shape[2] * shape[3])), size)
    if name == "out.weight":
        return g.uniform(-1.0, 1.0, size) / np.sqrt(fan_in(shape))
    return np.ones(size) if name.endswith("norm.weight") else np.zeros(size)


def shortcut(x: Tensor, m: int, stride: int) -> Tensor:
    """Take every other pixel of (B, M·C, H, W), and double the channels of each model by zeros."""
    few = x[:, :, ::stride, ::stride].unflatten(1, (m, -1))
    more = few.shape[2] // 2
    return F.pad(few, (0, 0, 0, 0, more, few.shape[2] - more)).flatten(1, 2)
