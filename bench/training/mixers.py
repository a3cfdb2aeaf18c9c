"""One communication round inside one process: every tensor is multiplied by W across nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bench.network.mixing import Mixing
from bench.training.world import Mixer

SPARSE_FROM = 64
"""Nodes from which a sparse graph is mixed edge by edge."""


def make_mixer(mixings: Sequence[Mixing], dtype: torch.dtype, device: torch.device) -> Mixer:
    """The fastest mixer for these graphs, one per replica."""
    first = mixings[0]
    shared = all(mixing.certificate.hash == first.certificate.hash for mixing in mixings)
    if shared and first.nodes >= SPARSE_FROM and np.count_nonzero(first.matrices) < first.matrices.size / 8:
        return SparseMixer(first, len(mixings), dtype, device)
    return DenseMixer(mixings, dtype, device)


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


class SparseMixer:
    """Every node sums its neighbours' rows: O(edges) where W @ X would be O(n²). One graph for all replicas."""

    def __init__(self, mixing: Mixing, replicas: int, dtype: torch.dtype, device: torch.device) -> None:
        self._rounds = []
        for w in mixing.matrices:
            rows, columns = np.nonzero(w)  # in the order of rows
            starts = np.searchsorted(rows, np.arange(mixing.nodes))
            shift = np.arange(replicas)[:, None]
            self._rounds.append(
                (
                    torch.as_tensor((columns + mixing.nodes * shift).ravel(), device=device),
                    torch.as_tensor((starts + len(columns) * shift).ravel(), device=device),
                    torch.as_tensor(np.tile(w[rows, columns], replicas), dtype=dtype, device=device),
                )
            )

    def __call__(self, r: int, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        neighbours, starts, weights = self._rounds[r % len(self._rounds)]
        return tuple(
            F.embedding_bag(neighbours, x.flatten(0, 1), starts, mode="sum", per_sample_weights=weights).view(x.shape)
            for x in tensors
        )
