"""QG-DSGDm: quasi-global momentum, from the changes of the mixed model."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Decay
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    m: Tensor  # average of (X − X⁺)/η, quasi-global


@algorithm(
    "qg_dsgdm",
    label="QG-DSGDm",
    family="dsgd",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    centralized_equivalent=True,
    defaults={"eta": 0.3},
    cite="Lin et al. 2021, Quasi-Global Momentum: Accelerating Decentralized Deep Learning on Heterogeneous Data",
    source="github.com/epfml/quasi-global-momentum, commit 0683d7a, code/pcode/optim/decentralized_qg_sgd.py; the "
    "scripts set nesterov",
    provenance="code",
)
class QGDSGDm(Algorithm):
    """Build the momentum from changes of the mixed model, which approximates the momentum of the whole network.

    X⁺ = W (X − η_t (β M + G(X))),  M⁺ = μ M + (1−μ) (X − X⁺)/η_t;  M⁰ = 0
    nesterov: G + β (β M + G) instead of β M + G. For η_t = 0, M is unchanged.
    Consensus fails if an eigenvalue of W is below −(1+μ)/(1 + μ + 2 (1−μ) β), which is rare.
    """

    beta: Decay = 0.9
    mu: float = 0.9
    nesterov: bool = False

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, m=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        eta, g = self.eta[t], grad(s.x, t)
        direction = self.beta * s.m + g
        if self.nesterov:
            direction = g + self.beta * direction
        (x,) = mix(s.x - eta * direction)
        moves = eta > 0
        m = torch.where(moves, torch.lerp((s.x - x) / torch.where(moves, eta, 1), s.m, self.mu), s.m)
        return State(x, m)
