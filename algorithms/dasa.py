"""D-ASA: averaged stochastic approximation without a tracker."""

from typing import NamedTuple

import torch
from torch import Tensor

from algorithms.dasagt import DASAGT
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    z: Tensor  # moving average of own gradients


@algorithm(
    "dasa",
    label="D-ASA",
    family="dasagt",
    vectors_per_step=2,
    needs={"smoothness", "topology"},
    assumes={"bounded heterogeneity"},
    estimates="z",
    averages="z",
    centralized_equivalent=True,
    defaults={"eta": 0.1},
    cite="Xiao et al. 2023, A One-Sample Decentralized Proximal Algorithm (DASA, proximal term zero)",
    source="github.com/tesixiao/ProxDASA, commit 5d33229, methods/proxdasa.py, with one round of gossip",
    provenance="code",
)
class DASA(Algorithm):
    """Step along a moving average of gradients that is mixed with the neighbors.

    X⁺ = W ((1−α_t) X + α_t (X − η_t Z)),  Z⁺ = W ((1−α_t) Z + α_t G(X));  Z⁰ = 0
    The default stepsize is slow on digits: larger ones score lower on the quadratics that it was chosen on.
    """

    stepsizes = staticmethod(DASAGT.stepsizes)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, z=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        alpha = self.alpha[t]
        x = torch.lerp(s.x, s.x - self.eta[t] * s.z, alpha)
        x, z = mix(x, torch.lerp(s.z, grad(s.x, t), alpha))
        return State(x, z)
