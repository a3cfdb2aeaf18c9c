"""DADAM: adaptive steps while combining, as written and as released."""

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Decay, Positive
from bench.method import Algorithm, Grad, Mix, Properties, algorithm


class State(NamedTuple):
    x: Tensor
    m: Tensor  # moving average of own gradients
    v: Tensor  # and of their squares
    v_max: Tensor  # V̂, fading maximum of v


@algorithm(
    "dadam_written",
    label="DADAM",
    family="dadam",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    fixed_point="elsewhere",
    defaults={"eta": 0.1, "schedule": "fixed"},
    cite="Nazari, Tarzanagh, Michailidis 2022, DAdam: A Consensus-based Distributed Adaptive Gradient Method for "
    "Online Optimization",
    source="arXiv:2109.03194, Algorithm 1, where Chen et al. restate it; the line of V̂ also in the authors' code "
    "(variant released)",
    provenance="reconstructed",
)
class DADAM(Algorithm):
    """Divide the local momentum by the root of a fading maximum of squared gradients, and step from the mixed model.

    M⁺ = β₁ M + (1−β₁) G,  V⁺ = β₂ V + (1−β₂) G²,  V̂⁺ = β₃ V̂ + (1−β₃) max(V̂, V⁺),  G = G(X)
    X⁺ = W X − η_t M⁺/√V̂⁺;  M⁰ = V⁰ = 0,  V̂⁰ = ε². It does not converge on heterogeneous data, for any stepsizes.
    variant released: X⁺ = W X − η_t M̂/(√V̄ + ε),  M̂ = M⁺/(1−β₁^(t+1)),  V̄ = V⁺/(1−β₂^(t+1)); V̂ is not used
    """

    beta1: Decay = 0.9
    beta2: Decay = 0.999
    beta3: Decay = 0.9
    epsilon: Positive = 1e-3
    variant: Literal["written", "released"] = "written"

    @classmethod
    def declare(cls, *, variant: str, **others: Any) -> Properties:
        released = "github.com/Tarzanagh/DADAM, commit 542ef22, DADAM-master/dadam_algorithms_main/dadam.m"
        unused = {"diagnostic_states": ("v_max",), "source": released, "provenance": "code"}
        return replace(cls.properties, **unused) if variant == "released" else cls.properties  # type: ignore[arg-type]

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        zero = torch.zeros_like(x)
        return State(x, m=zero, v=zero, v_max=zero + self.epsilon**2)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g = grad(s.x, t)
        m, v = torch.lerp(g, s.m, self.beta1), torch.lerp(g.square(), s.v, self.beta2)
        v_max = torch.lerp(torch.maximum(s.v_max, v), s.v_max, self.beta3)
        if self.variant == "released":
            m_hat, v_bar = m / (1 - self.beta1 ** (t + 1)), v / (1 - self.beta2 ** (t + 1))
            direction = m_hat / (v_bar.sqrt() + self.epsilon)
        else:
            direction = m / v_max.sqrt()
        (x,) = mix(s.x)
        return State(x - self.eta[t] * direction, m, v, v_max)
