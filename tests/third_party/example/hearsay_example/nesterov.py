"""D-SGD with Nesterov's momentum."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.method import Algorithm, algorithm


class State(NamedTuple):
    x: Tensor
    m: Tensor


@algorithm("nesterov", vectors_per_step=1, needs={"smoothness"}, assumes={"bounded heterogeneity"}, cite="folklore")
class Nesterov(Algorithm):
    """M⁺ = β M + G(X),  X⁺ = W (X − η_t (G(X) + β M⁺))"""

    beta: float = 0.9

    def start(self, x, grad, mix):
        return State(x, torch.zeros_like(x))

    def step(self, s, t, grad, mix):
        g = grad(s.x, t)
        m = self.beta * s.m + g
        (x,) = mix(s.x - self.eta[t] * (g + self.beta * m))
        return State(x, m)
