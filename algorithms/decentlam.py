"""DecentLaM: momentum of the whole D-SGD update."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Decay
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    m: Tensor  # exponentially weighted sum of D


@algorithm(
    "decentlam",
    label="DecentLaM",
    family="dsgd",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    centralized_equivalent=True,
    defaults={"eta": 0.3},
    cite="Yuan et al. 2021, DecentLaM: Decentralized Momentum SGD for Large-batch Deep Training",
    source="code of Takezawa et al. 2023, where it is a baseline",
    provenance="reconstructed",
)
class DecentLaM(Algorithm):
    """Apply momentum to the whole D-SGD update, mixing included, so that momentum does not amplify the bias.

    D = (X − W (X − η_t G(X))) / η_t,  M⁺ = β M + D,  X⁺ = X − η_t M⁺;  M⁰ = 0
    For η_t = 0, M is unchanged and X⁺ = W X, the limit.
    """

    beta: Decay = 0.9

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, m=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        eta = self.eta[t]
        (mixed,) = mix(s.x - eta * grad(s.x, t))
        moves = eta > 0
        m = torch.where(moves, self.beta * s.m + (s.x - mixed) / torch.where(moves, eta, 1), s.m)
        return State(mixed - eta * self.beta * s.m, m)
