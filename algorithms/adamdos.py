"""AdaMDOS: adaptive steps along a tracked recursive gradient."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    wx: Tensor  # W X, sent together with the tracker
    a: Tensor  # moving average of squared gradients
    u: Tensor  # recursive estimate of the own gradient
    y: Tensor  # tracks its average: ȳ = ū


@algorithm(
    "adamdos",
    label="AdaMDOS",
    vectors_per_step=2,
    gradients=2,
    start_samples=1,
    start_rounds=1,
    needs={"smoothness", "topology"},
    assumes={"mean-squared smoothness"},
    estimates="y",
    tracks={"y": "u"},
    defaults={"eta": 1.0, "schedule": "fixed"},
    cite="Huang, Zhao 2024, Faster Adaptive Decentralized Learning Algorithms",
    source="memory; the recursion of the scales from a summary of the paper",
    provenance="reconstructed",
)
class AdaMDOS(Algorithm):
    """Track a recursive variance-reduced gradient, and scale every coordinate by an average of squared gradients.

    A = √a + ρ₀ in every coordinate,  X̃ = W X − η_t A⁻¹ Y,  X⁺ = X + κ (X̃ − X)
    U⁺ = G(X⁺; s) + (1−β) (U − G(X; s)),  Y⁺ = W (Y + U⁺ − U),  a⁺ = ϱ a + (1−ϱ) G(X⁺; s)², both gradients on one s
    U⁰ = G(X⁰),  Y⁰ = W U⁰,  a⁰ = (1−ϱ) G(X⁰)²;  κ is ``pace``, ϱ ``fading``, ρ₀ ``floor``
    """

    pace: Positive = 0.9
    beta: float = 0.1
    fading: float = 0.9
    floor: Positive = 0.1

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        u = grad(x, 0)
        wx, y = mix(x, u)
        return State(x, wx, (1 - self.fading) * u.square(), u, y)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        ahead = s.wx - self.eta[t] * s.y / (s.a.sqrt() + self.floor)
        x = torch.lerp(s.x, ahead, self.pace)
        g = grad(x, t + 1)
        u = g + (1 - self.beta) * (s.u - grad(s.x, t + 1))
        wx, y = mix(x, s.y + u - s.u)
        return State(x, wx, torch.lerp(g.square(), s.a, self.fading), u, y)
