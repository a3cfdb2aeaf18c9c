"""Centralized Adam (uses the exact average gradient)."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Decay, Positive
from bench.method import Algorithm, Grad, Mix, Steps, algorithm


class State(NamedTuple):
    x: Tensor
    m: Tensor  # moving average of the average gradient
    v: Tensor  # and of its squares


@algorithm(
    "adam",
    label="Adam",
    family="dadam",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    exact_average=True,
    centralized_equivalent=True,
    defaults={"eta": 1.0, "schedule": "fixed"},
    cite="Kingma, Ba 2015, Adam: A Method for Stochastic Optimization",
    source="arXiv:1412.6980, Algorithm 1",
    provenance="paper",
)
class Adam(Algorithm):
    """Scale every coordinate by running averages of the exact average gradient and of its square.

    M⁺ = β₁ M + (1−β₁) ḡ,  V⁺ = β₂ V + (1−β₂) ḡ²,  M̂ = M⁺/(1−β₁^(t+1)),  V̂ = V⁺/(1−β₂^(t+1))
    X⁺ = X − η_t M̂/(√V̂ + ε),  ḡ the average of all G(X);  M⁰ = V⁰ = 0
    """

    beta1: Decay = 0.9
    beta2: Decay = 0.999
    epsilon: Positive = 1e-8

    @staticmethod
    def stepsizes(at: Steps, eta: Positive = 0.001) -> dict[str, Any]:
        """η√(n/h), with h = t (diminishing) or T (fixed); η alone when constant."""
        return {"eta": eta * at.root}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        zero = torch.zeros_like(x)
        return State(x, m=zero, v=zero)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (g,) = mix(grad(s.x, t))
        m, v = torch.lerp(g, s.m, self.beta1), torch.lerp(g.square(), s.v, self.beta2)
        m_hat, v_hat = m / (1 - self.beta1 ** (t + 1)), v / (1 - self.beta2 ** (t + 1))
        return State(s.x - self.eta[t] * m_hat / (v_hat.sqrt() + self.epsilon), m, v)
