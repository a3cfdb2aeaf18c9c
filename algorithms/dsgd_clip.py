"""DSGD-GClip: decentralized stochastic gradient descent with clipped gradients."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor


@algorithm(
    "dsgd_clip",
    label="DSGD-Clip",
    family="dsgd",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    fixed_point="elsewhere",
    cite="Armacki, Cai, Sayed 2026, Decentralized SGD under Heavy-Tailed Noise: Optimal Convergence Rates and the Role "
    "of Gradient Clipping",
    source="Algorithm 1 of the paper",
    provenance="paper",
)
class DSGDClip(Algorithm):
    """Clip the norm of every local gradient, take a step, then average the model with the neighbors.

    X⁺ = W (X − η_t G min(1, τ/‖G‖)), G = G(X), the norm of each node's whole gradient
    """

    tau: Positive = 1.0

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g = grad(s.x, t)
        norm = torch.linalg.vector_norm(g, dim=-1, keepdim=True).clamp_min(torch.finfo(g.dtype).tiny)
        (x,) = mix(s.x - self.eta[t] * g * (self.tau / norm).clamp_max(1))
        return State(x)
