"""GT-Adam: Adam along a tracked gradient."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Decay, Positive
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    s: Tensor  # tracks the average gradient: s̄ = ḡ
    g: Tensor  # own gradient
    m: Tensor  # moving average of the tracker
    v: Tensor  # and of its squares


@algorithm(
    "gt_adam",
    label="GT-Adam",
    family="dadam",
    vectors_per_step=2,
    start_samples=1,
    needs={"smoothness", "topology"},
    estimates="s",
    tracks={"s": "g"},
    defaults={"eta": 0.1, "schedule": "fixed"},
    cite="Carnevale, Farina, Notarnicola, Notarstefano 2022, GTAdam: Gradient Tracking with Adaptive Momentum for "
    "Distributed Online Optimization",
    source="github.com/OPT4SMART/disropt, commit 417b7cb, disropt/algorithms/nn/torch, which also caps V at 10⁶",
    provenance="code",
)
class GTAdam(Algorithm):
    """Run Adam with a tracker of the average gradient instead of the local gradient.

    M⁺ = β₁ M + (1−β₁) S,  V⁺ = β₂ V + (1−β₂) S²,  X⁺ = W X − η_t M⁺/(√V⁺ + ε),  S⁺ = W S + G(X⁺) − G(X)
    S⁰ = G(X⁰),  M⁰ = V⁰ = 0
    """

    beta1: Decay = 0.9
    beta2: Decay = 0.999
    epsilon: Positive = 1e-8

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        g, zero = grad(x, 0), torch.zeros_like(x)
        return State(x, s=g, g=g, m=zero, v=zero)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        m, v = torch.lerp(s.s, s.m, self.beta1), torch.lerp(s.s.square(), s.v, self.beta2)
        x, tracker = mix(s.x, s.s)
        x = x - self.eta[t] * m / (v.sqrt() + self.epsilon)
        g = grad(x, t + 1)
        return State(x, tracker + g - s.g, g, m, v)
