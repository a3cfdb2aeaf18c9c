"""The convolutional network of McMahan et al. (2017), common in federated learning."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from bench.base.layout import Layout
from bench.base.options import Count
from bench.models.dense import dense
from bench.models.layers import apart, conv, image, side_by_side
from bench.models.model import Model, model

KERNEL = 5


@model("cnn")
class CNN(Model):
    """conv 5×5 → 32, relu, maxpool 2, conv 5×5 → 64, relu, maxpool 2, dense → 512, relu, dense → classes

    Images are padded so that a convolution keeps their size.
    """

    tokens = False

    def __init__(self, inputs: tuple[int, ...], classes: int, channels: Count = 32, hidden: Count = 512) -> None:
        self._image = image("cnn", inputs, 4)
        colors, rows, columns = self._image
        features = 2 * channels * (rows // 4) * (columns // 4)
        self.layout = Layout(
            {
                "conv1.weight": (channels, colors, KERNEL, KERNEL),
                "conv1.bias": (channels,),
                "conv2.weight": (2 * channels, channels, KERNEL, KERNEL),
                "conv2.bias": (2 * channels,),
                "hidden.weight": (features, hidden),
                "hidden.bias": (hidden,),
                "out.weight": (hidden, classes),
                "out.bias": (classes,),
            }
        )
        self.floats = KEPT * channels * rows * columns + 2 * (features + hidden)

    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        y = side_by_side(x, self._image[0])
        for layer in ("conv1", "conv2"):
            # relu after pooling gives the same values, because it is monotone, at a quarter of the cost
            y = torch.relu(F.max_pool2d(conv(y, p[f"{layer}.weight"], p[f"{layer}.bias"], padding=KERNEL // 2), 2))
        return dense(p, "out", torch.relu(dense(p, "hidden", apart(y, len(x)))))


KEPT = 4
"""Numbers kept for the gradient per output of the first convolution: of both convolutions and of pooling."""
