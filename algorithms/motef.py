"""MoTEF: momentum, gradient tracking and compressed communication."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    h: Tensor  # copy of x that the neighbors hold
    wh: Tensor  # W h, from received messages
    v: Tensor  # tracks the average momentum: v̄ = m̄
    q: Tensor  # copy of v that the neighbors hold
    wq: Tensor  # W q
    m: Tensor  # moving average of own gradients


@algorithm(
    "motef",
    label="MoTEF",
    family="beer",
    vectors_per_step=2,
    start_samples=1,
    needs={"smoothness", "topology"},
    estimates="v",
    tracks={"v": "m"},
    static=True,
    compresses="contractive",
    defaults={"eta": 1.0},
    cite="Islamov, Gao, Stich 2024, Near Optimal Decentralized Optimization with Compression and Momentum Tracking",
    source="github.com/mlolab/MoTEF, commit 27dc47a, synthetic/solvers.py (the other file starts with M⁰ = 0)",
    provenance="code",
)
class MoTEF(Algorithm):
    """Track the momentum, and send only compressed changes of the model and the tracker.

    X⁺ = X + γ (W−I) H − η_t V,  H⁺ = H + C(X⁺ − H),  M⁺ = (1−λ) M + λ G(X⁺)
    V⁺ = V + γ (W−I) Q + M⁺ − M,  Q⁺ = Q + C(V⁺ − Q);  M⁰ = V⁰ = G(X⁰),  H⁰ = Q⁰ = 0;  λ is ``weight``
    """

    gamma: Positive = 0.3
    weight: Positive = 0.1

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        m, zero = grad(x, 0), torch.zeros_like(x)
        return State(x, h=zero, wh=zero, v=m, q=zero, wq=zero, m=m)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        x = s.x + self.gamma * (s.wh - s.h) - self.eta[t] * s.v
        m = torch.lerp(s.m, grad(x, t + 1), self.weight)
        v = s.v + self.gamma * (s.wq - s.q) + m - s.m
        (c, wc), (d, wd) = mix.compressed(x - s.h, v - s.q)
        return State(x, s.h + c, s.wh + wc, v, s.q + d, s.wq + wd, m)
