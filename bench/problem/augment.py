"""Data augmentation: random horizontal flips and random crops."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bench.base.randomness import BLOCK, generator


def drawn(seed: int, node: int, stream: int, block: int, batch: int, pixels: int) -> np.ndarray:
    """Draw (flip, row offset, column offset) for every image of a block of mini-batches, (BLOCK, B, 3)."""
    g = generator(seed, node, f"augment {stream}", block)
    return g.integers([0, 0, 0], [2, 2 * pixels + 1, 2 * pixels + 1], size=(BLOCK, batch, 3))


def augmented(images: Tensor, draws: Tensor, pixels: int) -> Tensor:
    """Return crops of images (…, [channels,] rows, columns), zero-padded by ``pixels``, for draws (…, 3)."""
    lead = draws.shape[:-1]
    raw = images.reshape(-1, *images.shape[len(lead) :])
    raw = raw if raw.dim() == 4 else raw.unsqueeze(1)
    count, _, height, width = raw.shape
    flip, down, right = draws.reshape(-1, 3).unbind(1)
    rows = down[:, None] - pixels + torch.arange(height, device=raw.device)
    columns = right[:, None] - pixels + torch.arange(width, device=raw.device)
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    columns = torch.where(flip[:, None] == 1, width - 1 - columns, columns)
    rows, columns = rows.clamp(0, height - 1), columns.clamp(0, width - 1)
    each = torch.arange(count, device=raw.device)[:, None, None]
    window = raw[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)  # (N, channels, rows, columns)
    return (window * inside[:, None].to(raw.dtype)).reshape(images.shape)
