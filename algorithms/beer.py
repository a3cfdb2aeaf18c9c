"""BEER: gradient tracking with compressed communication."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    h: Tensor  # copy of x that the neighbors hold
    wh: Tensor  # W h, from received messages
    v: Tensor  # tracks the average gradient: v̄ = ḡ
    q: Tensor  # copy of v that the neighbors hold
    wq: Tensor  # W q
    g: Tensor  # own gradient


@algorithm(
    "beer",
    label="BEER",
    vectors_per_step=2,
    start_samples=1,
    needs={"smoothness", "topology"},
    estimates="v",
    tracks={"v": "g"},
    static=True,
    compresses="contractive",
    defaults={"eta": 0.1, "schedule": "fixed"},
    cite="Zhao, Li, Li, Richtárik, Chi 2022, BEER: Fast O(1/T) Rate for Decentralized Nonconvex Optimization with "
    "Communication Compression",
    source="github.com/liboyue/beer, commit 25cbbbb, beer/optim/BEER.py",
    provenance="code",
)
class BEER(Algorithm):
    """Combine gradient tracking with error feedback: nodes send only compressed changes of the model and the tracker.

    X⁺ = X + γ (W−I) H − η_t V,  H⁺ = H + C(X⁺ − H),  V⁺ = V + γ (W−I) Q + G(X⁺) − G(X),  Q⁺ = Q + C(V⁺ − Q)
    H⁰ = Q⁰ = 0,  V⁰ = G(X⁰)
    """

    gamma: Positive = 0.3

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        g, zero = grad(x, 0), torch.zeros_like(x)
        return State(x, h=zero, wh=zero, v=g, q=zero, wq=zero, g=g)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        x = s.x + self.gamma * (s.wh - s.h) - self.eta[t] * s.v
        g = grad(x, t + 1)
        v = s.v + self.gamma * (s.wq - s.q) + g - s.g
        (c, wc), (d, wd) = mix.compressed(x - s.h, v - s.q)
        return State(x, s.h + c, s.wh + wc, v, s.q + d, s.wq + wd, g)
