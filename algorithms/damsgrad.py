"""D-AMSGrad: adaptive steps with second moments that the nodes average."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Decay, Positive
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    m: Tensor  # moving average of own gradients
    v: Tensor  # and of their squares
    v_max: Tensor  # v̂, the largest so far
    u: Tensor  # tracks its average: ū = mean of v̂


@algorithm(
    "damsgrad",
    label="D-AMSGrad",
    family="dadam",
    vectors_per_step=2,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    tracks={"u": "v_max"},
    defaults={"eta": 0.03, "schedule": "fixed"},
    cite="Chen, Karimi, Zhao, Li 2023, On the Convergence of Decentralized Adaptive Gradient Methods",
    source="arXiv:2109.03194, Algorithm 3, in the authors' LaTeX (github.com/BelhalK/baiduresearch, commit 05a736d)",
    provenance="paper",
)
class DAMSGrad(Algorithm):
    """Mix the second moments between neighbors, so that all nodes scale their steps alike.

    M⁺ = β₁ M + (1−β₁) G,  V⁺ = β₂ V + (1−β₂) G²,  V̂⁺ = max(V̂, V⁺),  G = G(X)
    U½ = W U,  X⁺ = W X − η_t M⁺/√max(U½, ε),  U⁺ = U½ + V̂⁺ − V̂;  M⁰ = V⁰ = 0,  V̂⁰ = U⁰ = ε
    The first steps are divided by √ε, so that a small ε makes them long.
    """

    beta1: Decay = 0.9
    beta2: Decay = 0.999
    epsilon: Positive = 1e-6

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        zero = torch.zeros_like(x)
        return State(x, zero, zero, zero + self.epsilon, zero + self.epsilon)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g = grad(s.x, t)
        m, v = torch.lerp(g, s.m, self.beta1), torch.lerp(g.square(), s.v, self.beta2)
        v_max = torch.maximum(s.v_max, v)
        x, u = mix(s.x, s.u)
        x = x - self.eta[t] * m / u.clamp_min(self.epsilon).sqrt()
        return State(x, m, v, v_max, u + v_max - s.v_max)
