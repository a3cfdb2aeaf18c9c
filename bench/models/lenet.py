"""The paper's convolutional network, for many parameter vectors at once and without autograd.

Convolutions are batched matrix products over columns of patches. The batch is the innermost axis, so that patches are
copied in long pieces. The four positions of each pooling window are an axis, so that pooling is a maximum of four
slices. tanh after pooling gives the same values, because it is monotone, at a quarter of the cost.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from bench.base.layout import Layout
from bench.models.dense import dense, dense_back, tanh_back
from bench.models.layers import image
from bench.models.lenet_rows import KERNEL, RowConvolution, pooled
from bench.models.model import Model, Pullback, model

WINDOW = 4
CHANNELS = (6, 16)


@model("lenet")
class LeNet(Model):
    """conv 5×5 → 6, tanh, maxpool 2, conv 5×5 → 16, tanh, maxpool 2, dense → 84, tanh, dense → classes"""

    tokens = False

    def __init__(self, inputs: tuple[int, ...], classes: int) -> None:
        self._image = shape = image("lenet", inputs, 16)
        first, second = CHANNELS
        rows, columns = (pooled(pooled(size)) for size in shape[1:])
        self.layout = Layout(
            {
                "conv1.weight": (first, shape[0], KERNEL, KERNEL),
                "conv1.bias": (first,),
                "conv2.weight": (second, first, KERNEL, KERNEL),
                "conv2.bias": (second,),
                "hidden.weight": (second * rows * columns, 84),
                "hidden.bias": (84,),
                "out.weight": (84, classes),
                "out.bias": (classes,),
            }
        )
        pixels = pooled(shape[1]) * pooled(shape[2])
        self.floats = WINDOW * (pixels * (shape[0] * KERNEL**2 + 2 * first) + rows * columns * 2 * first * KERNEL**2)

    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        _, two = self._convolutions(p, x)
        return dense(p, "out", torch.tanh(dense(p, "hidden", two.features())))

    def linearize(self, x: Tensor, inputs: Tensor) -> tuple[Tensor, Pullback]:
        p = self.unpack(x)
        one, two = self._convolutions(p, inputs)
        features = two.features()
        hidden = torch.tanh(dense(p, "hidden", features))

        def pull(delta: Tensor) -> Tensor:
            out = torch.empty_like(x)
            g = self.unpack(out)
            delta = dense_back(p, g, "out", hidden, delta)
            delta = dense_back(p, g, "hidden", features, delta)
            one.back(g, tanh_back(two.back_to_source(g, delta), one.out))
            return out

        return dense(p, "out", hidden), pull

    def _convolutions(self, p: Mapping[str, Tensor], x: Tensor) -> list[Convolution | RowConvolution]:
        """Compute both convolutions, in the way that is faster on the device of the inputs."""
        kind = RowConvolution if x.is_cuda else Convolution
        one = kind(p, "conv1", kind.arranged(self._batch_last(x)))
        return [one, kind(p, "conv2", one.out)]

    def _batch_last(self, x: Tensor) -> Tensor:
        """Reshape inputs (M, B, …) to (M, channels, rows, columns, B). Inputs shared by all models stay shared."""
        distinct = x[:1] if x.stride(0) == 0 else x
        last = distinct.flatten(2).mT.contiguous().view(len(distinct), *self._image, x.shape[1])
        return last.expand(len(x), *last.shape[1:])


class Convolution:
    """A convolution, 2×2 max-pooling and tanh: (M, C, H, W, B) → (M, O, H′, W′, B)."""

    def __init__(self, p: Mapping[str, Tensor], layer: str, source: Tensor) -> None:
        self._layer, self._shape = layer, source.shape
        self._weight = p[f"{layer}.weight"].flatten(2)  # (M, O, C·25)
        self._columns = patches(source).expand(len(source), -1, -1)
        bias = p[f"{layer}.bias"].unsqueeze(2)
        self._z = torch.baddbmm(bias, self._weight, self._columns).unflatten(2, (WINDOW, -1))
        a, b, c, d = self._z.unbind(2)
        self._best = torch.maximum(torch.maximum(a, b), torch.maximum(c, d))
        size = pooled(source.shape[2]), pooled(source.shape[3])
        self.out = torch.tanh(self._best).view(*self._best.shape[:2], *size, source.shape[4])

    @staticmethod
    def arranged(images: Tensor) -> Tensor:
        """Return images (M, C, H, W, B) in the order of this class."""
        return images

    def features(self) -> Tensor:
        """Return the outputs as (M, B, O·H′·W′)."""
        return self.out.flatten(1, 3).mT

    def back(self, g: Mapping[str, Tensor], delta: Tensor) -> Tensor:
        """Write the gradients, given that of ``out`` before tanh; return that of the values before pooling."""
        delta = delta.flatten(2)
        wide = self._unpool(delta).flatten(2)
        torch.bmm(wide, self._columns.mT, out=g[f"{self._layer}.weight"].flatten(2))
        torch.sum(delta, dim=2, out=g[f"{self._layer}.bias"])
        return wide

    def back_to_source(self, g: Mapping[str, Tensor], delta: Tensor) -> Tensor:
        """As ``back``, for the gradient (M, B, O·H′·W′) of ``features``; return that of the source."""
        wide = self.back(g, delta.mT.reshape(self.out.shape))
        return scatter(torch.bmm(self._weight.mT, wide), self._shape)

    def _unpool(self, delta: Tensor) -> Tensor:
        """Pass the gradient to the first of the largest values of each window."""
        out = torch.empty_like(self._z)
        rest = delta
        for i in range(WINDOW - 1):
            hit = self._z[:, :, i] == self._best
            torch.mul(rest, hit, out=out[:, :, i])
            rest = rest.masked_fill(hit, 0)
        out[:, :, WINDOW - 1] = rest
        return out


def patches(x: Tensor) -> Tensor:
    """Return the patches (M or 1, C·25, 4·H′·W′·B) of images (M or 1, C, H, W, B), by position in a pooling window."""
    x = x[:1] if x.stride(0) == 0 else x
    _, _, rows, columns, one = x.stride()
    m, c, height, width, batch = x.shape
    shape = (m, c, KERNEL, KERNEL, 2, 2, pooled(height), pooled(width), batch)
    strides = (*x.stride()[:2], rows, columns, rows, columns, 2 * rows, 2 * columns, one)
    return x.as_strided(shape, strides).reshape(m, c * KERNEL**2, -1)


def scatter(columns: Tensor, shape: torch.Size) -> Tensor:
    """Apply the adjoint of ``patches``: add every entry to the position that it was copied from."""
    out = columns.new_zeros(shape)
    m, c, height, width, batch = shape
    parts = columns.view(m, c, KERNEL, KERNEL, 2, 2, pooled(height), pooled(width), batch)
    per_m, per_c, rows, columns_, one = out.stride()
    strides = (per_m, per_c, rows, columns_, 2 * rows, 2 * columns_, one)
    for i in range(KERNEL):
        for j in range(KERNEL):
            part = parts[:, :, i, j]
            out.as_strided(part.shape, strides, i * rows + j * columns_).add_(part)
    return out
