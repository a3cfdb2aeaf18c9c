"""DSGD-CClip: decentralized stochastic gradient descent with every coordinate of the gradient clipped."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor


@algorithm(
    "dsgd_cclip",
    label="DSGD-CClip",
    family="dsgd",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    fixed_point="elsewhere",
    defaults={"eta": 1.0},
    cite="Armacki, Cai, Sayed 2026, Decentralized SGD under Heavy-Tailed Noise: Optimal Convergence Rates and the Role "
    "of Gradient Clipping (DSGD-CClip)",
    source="notes on the paper, whose Algorithm 1 clips whole gradients; coordinates are clipped in its experiments",
    provenance="reconstructed",
)
class DSGDCClip(Algorithm):
    """Clip every coordinate of the local gradients, take a step, then average the model with the neighbors.

    X⁺ = W (X − η_t clip(G(X), −τ, τ)), coordinate by coordinate; with a small τ the step is η_t τ sign(G)
    """

    tau: Positive = 1.0

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g = grad(s.x, t)
        (x,) = mix(s.x - self.eta[t] * torch.clamp(g, -self.tau, self.tau))
        return State(x)
