"""D-SGD with momentum."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.method import Algorithm, algorithm


class State(NamedTuple):
    x: Tensor
    m: Tensor


@algorithm("dsgdm", sends=1, needs={"smoothness"}, assumes={"bounded heterogeneity"}, cite="folklore")
class DSGDm(Algorithm):
    """M⁺ = β M + G(X),  X⁺ = W (X − η_t M⁺)"""

    beta: float = 0.9

    def start(self, x, grad, mix):
        return State(x, torch.zeros_like(x))

    def step(self, s, t, grad, mix):
        m = self.beta * s.m + grad(s.x, t)
        (x,) = mix(s.x - self.eta[t] * m)
        return State(x, m)
