"""LED: local exact diffusion."""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Count
from bench.method import Algorithm, Grad, Mix, Properties, algorithm


class State(NamedTuple):
    x: Tensor
    y: Tensor  # dual: sum of the changes by mixing


@algorithm(
    "led",
    label="LED",
    family="d2",
    vectors_per_step=1,
    samples=5,
    needs={"smoothness", "topology"},
    lambda_min=-1 / 3,
    zero_sum="y",
    requires_float64=True,
    defaults={"eta": 0.1, "schedule": "fixed"},
    cite="Alghunaim 2024, Local Exact-Diffusion for Decentralized Optimization and Learning",
    source="the code of two libraries",
    provenance="reconstructed",
)
class LED(Algorithm):
    """Take several local steps per round, and correct each by a dual variable, as exact diffusion does.

    P = X, K times P ← P − η_t G(P) − b Y;  X⁺ = W P,  Y⁺ = Y + P − X⁺;  Y⁰ = 0;  b = 1/K unless given
    """

    local_steps: Count = 5
    b: float | None = None

    @classmethod
    def declare(cls, *, local_steps: int, b: float | None, **others: Any) -> Properties:
        pull = 1 if b is None else local_steps * b
        lowest = (pull - 2) / (pull + 2)
        return replace(cls.properties, samples=local_steps, gradients=local_steps, lambda_min=lowest)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, y=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        k = self.local_steps
        p, pull = s.x, (1 / k if self.b is None else self.b) * s.y
        for s_local in range(t * k, t * k + k):
            p = p - self.eta[t] * grad(p, s_local) - pull
        (x,) = mix(p)
        return State(x, s.y + p - x)
