"""DeMuon: tracked momentum and orthogonalized steps."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.method import Algorithm, Grad, Mix, algorithm

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)  # maps singular values close to one in five steps


class State(NamedTuple):
    x: Tensor
    m: Tensor  # moving average of own gradients
    v: Tensor  # tracks its average: v̄ = m̄


@algorithm(
    "demuon",
    label="DeMuon",
    vectors_per_step=2,
    rounds=2,
    needs={"smoothness"},
    estimates="v",
    tracks={"v": "m"},
    scale_free=True,
    centralized_equivalent=True,
    defaults={"eta": 0.1},
    cite="He et al. 2025, DeMuon: A Decentralized Muon for Matrix Optimization over Graphs",
    source="github.com/MozarTuring/DeMuon, commit 0630ff3, exp3_decentralize_gpt.py, which divides vectors by their "
    "norm instead",
    provenance="code",
)
class DeMuon(Algorithm):
    """Track the momentum, and orthogonalize it before every step, as Muon does.

    M⁺ = (1−θ) M + θ G(X),  V⁺ = W (V + M⁺ − M),  X⁺ = W (X − η_t msgn(V⁺));  M⁰ = V⁰ = 0
    msgn of every tensor of the model as a matrix, by five Newton–Schulz steps; a vector is a matrix of one column
    """

    theta: float = 0.1

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        zero = torch.zeros_like(x)
        return State(x, m=zero, v=zero)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        m = torch.lerp(s.m, grad(s.x, t), self.theta)
        (v,) = mix(s.v + m - s.m)
        parts = zip(v.split(self.layout.sizes, dim=-1), self.layout.shapes.values(), strict=True)
        direction = torch.cat([_msgn(part, shape) for part, shape in parts], dim=-1)
        (x,) = mix(s.x - self.eta[t] * direction)
        return State(x, m, v)


def _msgn(v: Tensor, shape: tuple[int, ...]) -> Tensor:
    a = v.reshape(*v.shape[:-1], shape[0] if shape else 1, -1)
    wide = a.shape[-2] <= a.shape[-1]
    a = (a if wide else a.mT) / torch.linalg.matrix_norm(a, keepdim=True).clamp_min(torch.finfo(a.dtype).tiny)
    first, third, fifth = NEWTON_SCHULZ
    for _ in range(5):
        gram = a @ a.mT
        a = first * a + (third * gram + fifth * gram @ gram) @ a
    return (a if wide else a.mT).reshape(v.shape)
