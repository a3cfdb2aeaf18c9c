"""D-ASAGT: averaged stochastic approximation with gradient tracking."""

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, Properties, Steps, algorithm


class State(NamedTuple):
    x: Tensor
    u: Tensor  # tracks the average gradient: ū = v̄
    v: Tensor  # own gradient
    z: Tensor  # moving average of the tracker


@algorithm(
    "dasagt",
    label="D-ASAGT",
    vectors_per_step=3,
    needs={"smoothness", "topology"},
    estimates="z",
    averages="z",
    tracks={"u": "v"},
    centralized_equivalent=True,
    defaults={"eta": 1.0, "schedule": "fixed"},
    cite="Xiao et al. 2023, A One-Sample Decentralized Proximal Algorithm (DASA-GT, proximal term zero)",
    source="arXiv:2402.08821, where it is a baseline; X and U also in github.com/tesixiao/ProxDASA, commit 5d33229, "
    "methods/proxdasagt.py, whose Z averages V (average=gradient)",
    provenance="paper",
)
class DASAGT(Algorithm):
    """Step along a moving average of the tracked gradient, so that differences between the nodes' data cause no bias.

    V⁺ = G(X),  Ũ = U + V⁺ − V,  U⁺ = W Ũ
    X⁺ = W ((1−α_t) X + α_t (X − η_t Z)),  Z⁺ = W ((1−α_t) Z + α_t Ũ);  Z⁰ = U⁰ = V⁰ = 0
    average="gradient", as in the released code of D-NASA's paper, uses V⁺ instead of Ũ in Z⁺
    """

    average: Literal["tracker", "gradient"] = "tracker"

    @classmethod
    def declare(cls, *, average: str, **others: Any) -> Properties:
        released = replace(cls.properties, diagnostic_states=("u", "v"), fixed_point="near")  # as D-ASA
        return released if average == "gradient" else cls.properties

    @staticmethod
    def stepsizes(at: Steps, eta: Positive = 0.01, alpha: Positive = 0.3) -> dict[str, Any]:
        """η_t = η√(n/t), or η when fixed;  α_t = min(√(n/h), 0.3). ``alpha`` applies to ``constant``."""
        if not at.formula:
            return {"eta": eta * at.root, "alpha": alpha}
        return {"eta": eta if at.kind == "fixed" else eta * at.root, "alpha": np.minimum(at.root, 0.3)}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        zero = torch.zeros_like(x)
        return State(x, u=zero, v=zero, z=zero)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        alpha = self.alpha[t]
        v = grad(s.x, t)
        u = s.u + v - s.v
        x = torch.lerp(s.x, s.x - self.eta[t] * s.z, alpha)
        z = torch.lerp(s.z, u if self.average == "tracker" else v, alpha)
        x, u, z = mix(x, u, z)
        return State(x, u, v, z)
