"""EDM: exact diffusion with momentum."""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Decay
from bench.method import Algorithm, Grad, Mix, Properties, algorithm
from bench.method.gossip import lazily


class State(NamedTuple):
    x: Tensor
    psi: Tensor  # ψ₋, result of the last step before mixing
    m: Tensor  # moving average of own gradients


@algorithm(
    "edm",
    label="EDM",
    family="d2",
    vectors_per_step=1,
    needs={"smoothness", "topology"},
    lambda_min=-1 / 3,
    requires_float64=True,
    centralized_equivalent=True,
    defaults={"eta": 1.0},
    cite="Hu, Chen, Liu, Mao 2025, A Bias-Correction Decentralized Stochastic Gradient Algorithm with "
    "Momentum Acceleration",
    source="the recursion from a summary of the paper; the factor 1−β from memory",
    provenance="reconstructed",
)
class EDM(Algorithm):
    """Correct every local momentum step by the previous one, as exact diffusion does.

    M⁺ = β M + (1−β) G(X),  ψ = X − η_t M⁺,  X⁺ = W (ψ + X − ψ₋);  M⁰ = 0, ψ₋ = X⁰ at the start
    lazy: (I + W)/2 instead of W
    """

    beta: Decay = 0.9
    lazy: bool = False

    @classmethod
    def declare(cls, *, lazy: bool, **others: Any) -> Properties:
        return replace(cls.properties, lambda_min=None, centralized_equivalent=False) if lazy else cls.properties

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, psi=x, m=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        m = torch.lerp(grad(s.x, t), s.m, self.beta)
        psi = s.x - self.eta[t] * m
        ahead = psi + s.x - s.psi
        (x,) = lazily(mix, ahead) if self.lazy else mix(ahead)
        return State(x, psi, m)
