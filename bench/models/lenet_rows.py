"""Convolution, pooling and tanh for GPUs: pixels are copied 5 times instead of 25.

A convolution is a batched matrix product, one for each row of outputs. Images are unfolded along their columns only.
The patches of a row of outputs are then five rows that lie one behind another in memory. On the H200 a step of LeNet
takes 0.74 (one run) and 0.85 (125 runs) of its time with ``lenet.Convolution``; on CPUs, where libraries compute many
small products slowly, it takes up to twice as long.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

KERNEL = 5
POSITIONS = ((0, 0), (0, 1), (1, 0), (1, 1))
"""Row and column of each place of a pooling window."""


class RowConvolution:
    """A convolution, 2×2 max-pooling and tanh: (M, H, C, W, B) → (M, H′, O, W′, B), the tensor ``out``."""

    def __init__(self, p: Mapping[str, Tensor], layer: str, source: Tensor) -> None:
        self._layer, self._shape = layer, source.shape
        self._weight = p[f"{layer}.weight"].movedim(3, 2)  # (M, O, 5 rows, C, 5 columns)
        self._rows = pooled(source.shape[1])
        self._patches = patches(source)  # (M or 1, H, 25·C, 2·W′·B)
        self._z = products(self._weight.flatten(2), self._patches)
        a, b, c, d = self._places(self._z)
        self._best = torch.maximum(torch.maximum(a, b), torch.maximum(c, d))
        out = torch.tanh(self._best + p[f"{layer}.bias"][:, None, :, None])
        self.out = out.unflatten(3, (-1, source.shape[4]))

    @staticmethod
    def arranged(images: Tensor) -> Tensor:
        """Return images (M, C, H, W, B) in the order of this class."""
        return images.transpose(1, 2)

    def features(self) -> Tensor:
        """Return the outputs as (M, B, O·H′·W′)."""
        return self.out.transpose(1, 2).flatten(1, 3).mT

    def back(self, g: Mapping[str, Tensor], delta: Tensor) -> Tensor:
        """Write the gradients, given that of ``out`` before tanh; return that before pooling after four zero rows."""
        padded, wide = self._unpool(delta.flatten(3))
        weight = products_back(wide, self._patches).view(self._weight.shape)
        g[f"{self._layer}.weight"].copy_(weight.movedim(2, 3))
        torch.sum(delta.flatten(3), dim=(1, 3), out=g[f"{self._layer}.bias"])
        return padded

    def back_to_source(self, g: Mapping[str, Tensor], delta: Tensor) -> Tensor:
        """As ``back``, for the gradient (M, B, O·H′·W′) of ``features``; return that of the source."""
        channels_first = delta.mT.unflatten(1, (self._weight.shape[1], self._rows, -1))
        padded = self.back(g, channels_first.transpose(1, 2))
        rows = windows(padded, *self._shape[:2])
        weight = self._weight.flip(2).permute(0, 3, 4, 2, 1).flatten(3).flatten(1, 2)  # (M, C·5, 5·O)
        return fold(products(weight, rows), self._shape)

    def _places(self, z: Tensor) -> list[Tensor]:
        """Return the four places of the pooling windows, (M, H′, O, W′·B) each, of rows (M, H, O, 2·W′·B)."""
        by_place = z[:, : 2 * self._rows].unflatten(3, (2, -1)).unflatten(1, (-1, 2))
        return [by_place[:, :, row, :, column] for row, column in POSITIONS]

    def _unpool(self, delta: Tensor) -> tuple[Tensor, Tensor]:
        """Pass the gradient to the first of the largest values of each window.

        Rows without a window are zero, and so are four rows before the first: the gradient of a source's row adds up
        that row and the four before it, and the last rows of one model lie before the first rows of the next.
        """
        m, height, outputs, n = self._z.shape
        padded = delta.new_zeros(KERNEL - 1 + m * height, outputs, n)
        wide = padded[KERNEL - 1 :].view(self._z.shape)
        *places, last = self._places(wide)
        for place, z in zip(places, self._places(self._z), strict=False):
            hit = z == self._best
            torch.mul(delta, hit, out=place)
            delta = delta.masked_fill(hit, 0)
        last.copy_(delta)
        return padded, wide


def pooled(size: int) -> int:
    """Return the number of rows after a convolution and pooling."""
    return (size - KERNEL + 1) // 2


def patches(x: Tensor) -> Tensor:
    """Return the patches of each row, (M or 1, H, 25·C, 2·W′·B), of images (M, H, C, W, B).

    The last four rows of a model, which have no outputs, continue in the next model.
    """
    x = x[:1] if x.stride(0) == 0 else x
    m, height, channels, width, batch = x.shape
    shape = (m, height, channels, KERNEL, 2, pooled(width), batch)
    *outer, columns, one = x.stride()
    unfolded = x.new_zeros(m * height + KERNEL - 1, channels * KERNEL, 2 * pooled(width) * batch)
    unfolded[: m * height].view(shape).copy_(x.as_strided(shape, (*outer, columns, columns, 2 * columns, one)))
    return windows(unfolded, m, height)


def windows(rows: Tensor, m: int, height: int) -> Tensor:
    """Return each of the rows (m·height + 4, c, N) with the next four, (m, height, 5·c, N), without a copy."""
    _, c, n = rows.shape
    return rows.as_strided((m, height, KERNEL * c, n), (height * c * n, c * n, n, 1))


def products(weight: Tensor, x: Tensor) -> Tensor:
    """Return weight (M, O, K) times x (M or 1, H, K, N), as (M, H, O, N)."""
    m, height, k, n = x.shape
    if m == 1:  # all models see the same x: one product for each row
        rows = torch.bmm(weight.reshape(1, -1, k).expand(height, -1, -1), x[0])
        return rows.view(height, len(weight), -1, n).transpose(0, 1)
    return torch.bmm(weight.unsqueeze(1).expand(-1, height, -1, -1).flatten(0, 1), x.flatten(0, 1)).unflatten(
        0, (m, -1)
    )


def products_back(delta: Tensor, x: Tensor) -> Tensor:
    """Return the gradient (M, O, K) of the weight of ``products``, given that of its result, (M, H, O, N)."""
    m, height, k, n = x.shape
    if m == 1:
        return torch.bmm(delta.transpose(0, 1).reshape(height, -1, n), x[0].mT).sum(0).view(len(delta), -1, k)
    return torch.bmm(delta.flatten(0, 1), x.flatten(0, 1).mT).unflatten(0, (m, -1)).sum(1)


def fold(unfolded: Tensor, shape: torch.Size) -> Tensor:
    """Apply the adjoint of unfolding, (M, H, C·5, 2·W′·B) → (M, H, C, W, B)."""
    m, height, channels, width, batch = shape
    out = unfolded.new_zeros(shape)
    parts = unfolded.view(m, height, channels, KERNEL, 2, pooled(width), batch)
    for column in range(KERNEL):
        part = parts[:, :, :, column]
        out.as_strided(part.shape, (*out.stride()[:3], batch, 2 * batch, 1), column * batch).add_(part)
    return out
