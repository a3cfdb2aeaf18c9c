"""Normalized vectors, as methods with normalized steps use them."""

from __future__ import annotations

import torch
from torch import Tensor


def unit(z: Tensor) -> Tensor:
    """Divide the vector of every node by its Euclidean norm.

    The norm is computed in float64, because squares in float32 underflow or overflow at scales where z does not.

    Args:
        z: The vectors, (R, k, P).

    Returns:
        z/‖z‖ over the last axis, (R, k, P), in the dtype of z; 0 where the norm is 0.

    Example:
        >>> unit(torch.tensor([[[3.0, 4.0]]]))
        tensor([[[0.6000, 0.8000]]])
    """
    norm = torch.linalg.vector_norm(z, dim=-1, keepdim=True, dtype=torch.float64).to(z.dtype)
    return z / norm.clamp_min(torch.finfo(z.dtype).tiny)
