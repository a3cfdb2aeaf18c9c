"""D-NASA: normalized, averaged gradient tracking, free of problem parameters."""

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, Properties, Steps, algorithm, unit


class State(NamedTuple):
    x: Tensor
    u: Tensor  # tracks the average gradient: ū = v̄
    v: Tensor  # own gradient
    z: Tensor  # moving average of the tracker


@algorithm(
    "dnasa",
    label="D-NASA",
    vectors_per_step=3,
    estimates="z",
    averages="z",
    tracks={"u": "v"},
    bounded_step=True,
    scale_free=True,
    centralized_equivalent=True,
    cite="Li et al. 2024, Problem-Parameter-Free Decentralized Nonconvex Stochastic Optimization, Algorithm 2",
    source="arXiv:2402.08821, Algorithm 2",
    provenance="paper",
)
class DNASA(Algorithm):
    """Take normalized steps along a moving average of the tracked gradient, with stepsizes free of problem parameters.

    X̃ = X − η_t unit(Z),  V⁺ = G(X),  Ũ = U + V⁺ − V,  Z̃ = (1−α_t) Z + α_t Ũ
    X⁺, U⁺, Z⁺ = W X̃, W Ũ, W Z̃;  Z⁰ = U⁰ = V⁰ = 0
    As in the released code: average="gradient" uses V⁺ instead of Ũ in Z̃, so that the tracker is sent but not used;
    normalize="tensor" normalizes every tensor of the model separately.
    """

    normalize: Literal["vector", "tensor"] = "vector"
    average: Literal["tracker", "gradient"] = "tracker"

    @classmethod
    def declare(cls, *, normalize: str, average: str = "tracker", **others: Any) -> Properties:
        """Per-tensor steps are longer than η_t; normalized local gradients have another fixed point."""
        properties = replace(cls.properties, bounded_step=normalize == "vector")
        released = replace(properties, diagnostic_states=("u", "v"), fixed_point="elsewhere")
        return properties if average == "tracker" else released

    @staticmethod
    def stepsizes(at: Steps, multiplier: Positive = 1.0, alpha: Positive = 0.3) -> dict[str, Any]:
        """η_t = n^¼ / h^¾,  α_t = min(1, √(n/h)). ``constant`` takes ``multiplier`` as η, and ``alpha`` as given."""
        if not at.formula:
            return {"eta": multiplier * at.root, "alpha": alpha}
        return {"eta": multiplier * at.n**0.25 / at.h**0.75, "alpha": np.minimum(1.0, at.root)}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        zero = torch.zeros_like(x)
        return State(x, u=zero, v=zero, z=zero)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        x = s.x - self.eta[t] * self.direction(s.z)
        v = grad(s.x, t)
        u = s.u + v - s.v
        z = torch.lerp(s.z, u if self.average == "tracker" else v, self.alpha[t])
        x, u, z = mix(x, u, z)
        return State(x, u, v, z)

    def direction(self, z: Tensor) -> Tensor:
        sizes = self.layout.sizes if self.normalize == "tensor" else [z.shape[-1]]
        return torch.cat([unit(part) for part in z.split(sizes, dim=-1)], dim=-1)
