"""A method that uses all that a method is given: HEARSAY_PLUGINS=tests.helpers.generous

Useless as a method; what it spends can be counted by hand.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.method import Algorithm, algorithm


class State(NamedTuple):
    x: Tensor
    c: Tensor  # sums to zero over the nodes
    w: Tensor  # one number a node
    mean: Tensor  # of the iterates so far


@algorithm(
    "generous",
    vectors_per_step=1 + 0.25 * 2,
    scalars_per_step=0.25,
    rounds=1.25,
    samples=1,
    gradients=2,
    start_samples=1,
    start_rounds=1,
    needs={"topology"},
    zero_sum=("c",),
    report="mean",
    fixed_point="near",
    cite="nobody",
)
class Generous(Algorithm):
    """X⁺ = W (X − η_t (G(X;t+1) + G(X;t)) / 2); with probability ¼ also C⁺ = C + β ρ (X⁺ − W X⁺), and W w"""

    beta: float = 0.5

    def start(self, x, grad, mix):
        g = grad(x, 0)
        (x_mixed,) = mix(x)
        full = grad.full(x)
        return State(x, 0 * (g + x_mixed), torch.ones_like(x[..., :1]), x + 0 * full)

    def step(self, s, t, grad, mix):
        g = (grad(s.x, t + 1) + grad(s.x, t)) / 2
        (x,) = mix(s.x - self.eta[t] * g)
        coin = self.coin(t, 0.25)
        xx, _, w = mix(x, s.c, s.w, when=coin)
        c = s.c + self.beta * self.rho * (x - xx)
        return State(x, c, w, s.mean + (x - s.mean) / (t + 1))
