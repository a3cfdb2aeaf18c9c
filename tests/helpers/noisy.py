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
NOISE = 0.2 * _g.standard_normal((200, N, D))
START = _g.standard_normal((N, D))


def G(X: np.ndarray, s: int) -> np.ndarray:
    return np.stack([A[i] @ (X[i] - B[i]) + NOISE[s, i] for i in range(N)])


def gradient(x: Tensor, s: int, stream: int = 0) -> Tensor:
    a, b = torch.as_tensor(A), torch.as_tensor(B)
    return (a @ (x - b).unsqueeze(-1)).squeeze(-1) + torch.as_tensor(NOISE[s])


def G_alone(X: np.ndarray, s: int) -> np.ndarray:
    """Node 0 with nobody to talk to."""
    return (A[0] @ (X[0] - B[0]) + NOISE[s, 0])[None]


def gradient_alone(x: Tensor, s: int, stream: int = 0) -> Tensor:
    return torch.as_tensor(G_alone(x[0].numpy(), s))[None]


def start() -> Tensor:
    return torch.as_tensor(START).unsqueeze(0)
