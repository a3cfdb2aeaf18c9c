"""One communication round inside one process: every tensor is multiplied by W across nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bench.certificate import Mixing


class DenseMixer:
    """W @ X for all nodes at once; replicas may have graphs of their own."""

    def __init__(self, mixings: Sequence[Mixing], dtype: torch.dtype, device: torch.device) -> None:
        """``mixings`` has one entry per replica, all of one period."""
        if len({mixing.certificate.hash for mixing in mixings}) == 1:
            stacked = mixings[0].matrices  # (period, n, n): broadcasts over replicas
        else:
            stacked = np.stack([mixing.matrices for mixing in mixings], axis=1)  # (period, R, n, n)
        self._w = list(torch.as_tensor(stacked, dtype=dtype, device=device).unbind(0))

    def __call__(self, r: int, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        w = self._w[r % len(self._w)]
        return tuple(torch.matmul(w, tensor) for tensor in tensors)
