"""Layers for M models at once.

Images have the shape (B, M·C, H, W). M convolutions are then one with M groups, M normalizations are one with M times
the groups, and no layer copies its inputs.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from bench.base.errors import UserError


def conv(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0) -> Tensor:
    """Convolve images (B, M·C, H, W) with kernels (M, O, C, k, k): (B, M·O, H′, W′)."""
    out = F.conv2d(x, weight.flatten(0, 1), stride=stride, padding=padding, groups=len(weight))
    return out if bias is None else out + bias.reshape(-1, 1, 1)


def group_norm(x: Tensor, groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """Normalize images (B, M·C, H, W) over ``groups`` groups of channels per model; weights (M, C)."""
    return F.group_norm(x, len(weight) * groups, weight.flatten(), bias.flatten())


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Normalize vectors (M, N, D); weights (M, D)."""
    return torch.addcmul(bias.unsqueeze(1), F.layer_norm(x, x.shape[-1:]), weight.unsqueeze(1))


def embedding(tokens: Tensor, table: Tensor) -> Tensor:
    """Return the rows (M, N, D) of tables (M, V, D) for tokens (M, N)."""
    return table[torch.arange(len(table), device=table.device).unsqueeze(1), tokens]


def attention(qkv: Tensor, batch: int, heads: int) -> Tensor:
    """Return causal self-attention in each of ``batch`` texts, from queries, keys and values (M, B·T, 3 D)."""
    m, places, wide = qkv.shape
    q, k, v = qkv.view(m * batch, places // batch, 3, heads, wide // (3 * heads)).permute(2, 0, 3, 1, 4).unbind()
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (M·B, heads, T, d)
    return out.transpose(1, 2).reshape(m, places, wide // 3)


def side_by_side(x: Tensor, channels: int) -> Tensor:
    """Reshape images (M, B, …) to (B, M·C, H, W)."""
    return x.transpose(0, 1).reshape(x.shape[1], len(x) * channels, *x.shape[-2:])


def apart(x: Tensor, models: int) -> Tensor:
    """Reshape features (B, M·C, …) to (M, B, N)."""
    return x.reshape(len(x), models, -1).transpose(0, 1)


def image(name: str, inputs: tuple[int, ...], least: int) -> tuple[int, int, int]:
    """Return channels, rows and columns of an input; raise ``UserError`` if it is not an image or too small."""
    shape = inputs if len(inputs) == 3 else (1, *inputs)
    if len(shape) != 3 or min(shape[1:]) < least:
        raise UserError(
            f"model={name} needs images of at least {least}×{least} pixels; got inputs of shape {inputs}. Use "
            "model=linear or model=mlp."
        )
    return shape
