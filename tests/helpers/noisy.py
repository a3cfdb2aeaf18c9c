"""Noisy heterogeneous quadratics, once for NumPy and once for the suite."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

N, D = 8, 5
_g = np.random.default_rng(7)
_M = _g.standard_normal((N, D, D))
A = np.einsum("nij,nkj->nik", _M, _M) / D + np.eye(D)
B = _g.standard_normal((N, D))
_FIRST = 0.2 * _g.standard_normal((200, N, D))
START = _g.standard_normal((N, D))
NOISE = [np.concatenate([_FIRST, 0.2 * _g.standard_normal((200, N, D))]), 0.2 * _g.standard_normal((8, N, D))]
"""Of sample s in each stream; the second is for starts."""


def G(X: np.ndarray, s: int, stream: int = 0) -> np.ndarray:
    return (A @ (X - B)[:, :, None])[:, :, 0] + NOISE[stream][s]


def gradient(x: Tensor, s: int, stream: int = 0) -> Tensor:
    a, b = torch.as_tensor(A), torch.as_tensor(B)
    return (a * (x - b).unsqueeze(-2)).sum(-1) + torch.as_tensor(NOISE[stream][s])


def G_alone(X: np.ndarray, s: int, stream: int = 0) -> np.ndarray:
    """Node 0 with nobody to talk to."""
    return G(np.repeat(X, N, axis=0), s, stream)[:1]


def gradient_alone(x: Tensor, s: int, stream: int = 0) -> Tensor:
    return gradient(x.expand(-1, N, -1), s, stream)[:, :1]


def start() -> Tensor:
    return torch.as_tensor(START).unsqueeze(0)
