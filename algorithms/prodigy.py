"""Centralized Prodigy: Adam with an estimated stepsize (uses the exact average gradient)."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Decay, Positive
from bench.method import Algorithm, Grad, Mix, Steps, algorithm


class State(NamedTuple):
    x: Tensor
    x0: Tensor
    m: Tensor  # moving average of d ḡ
    v: Tensor  # and of d² ḡ²
    s: Tensor  # exponentially weighted sum of scaled gradients
    along: Tensor  # r, sum of ⟨ḡ, x⁰ − x⟩, weighted alike, a scalar
    d: Tensor  # estimated distance to the solution, a scalar


@algorithm(
    "prodigy",
    label="Prodigy",
    family="dadam",
    vectors_per_step=1,
    exact_average=True,
    centralized_equivalent=True,
    cite="Mishchenko, Defazio 2024, Prodigy: An Expeditiously Adaptive Parameter-Free Learner",
    source="github.com/konstmish/prodigy, commit 0129cca, prodigyopt/prodigy_reference.py, without weight decay and "
    "bias correction",
    provenance="code",
)
class Prodigy(Algorithm):
    """Run Adam with a stepsize that grows with an estimated lower bound on the distance to the solution.

    r⁺ = β₃ r + (d/d₀) η d ⟨ḡ, X⁰ − X⟩,  S⁺ = β₃ S + (d/d₀) η d ḡ,  d⁺ = max(d, r⁺/‖S⁺‖₁),  β₃ = √β₂
    M⁺ = β₁ M + (1−β₁) d ḡ,  V⁺ = β₂ V + (1−β₂) d² ḡ²,  X⁺ = X − η d M⁺/(√V⁺ + d⁺ ε)
    ḡ the average of all G(X);  M⁰ = V⁰ = S⁰ = r⁰ = 0
    """

    beta1: Decay = 0.9
    beta2: Decay = 0.999
    d0: Positive = 1e-6
    epsilon: Positive = 1e-8

    @staticmethod
    def stepsizes(at: Steps, eta: Positive = 1.0) -> dict[str, Any]:
        """η in every schedule: d adapts the stepsize."""
        return {"eta": eta}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        zero, number = torch.zeros_like(x), torch.zeros_like(x[..., :1])
        return State(x, x, zero, zero, zero, number, number + self.d0)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (g,) = mix(grad(s.x, t))
        fading, step = self.beta2**0.5, self.eta[t] * s.d
        far = s.d / self.d0 * step
        along = fading * s.along + far * (g * (s.x0 - s.x)).sum(-1, keepdim=True)
        total = fading * s.s + far * g
        d = torch.maximum(s.d, along / total.abs().sum(-1, keepdim=True).clamp_min(torch.finfo(total.dtype).tiny))
        m, v = torch.lerp(s.d * g, s.m, self.beta1), torch.lerp((s.d * g).square(), s.v, self.beta2)
        return State(s.x - step * m / (v.sqrt() + d * self.epsilon), s.x0, m, v, total, along, d)
