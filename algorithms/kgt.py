"""K-GT: local steps with gradient tracking."""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Count, Positive
from bench.method import Algorithm, Grad, Mix, Properties, algorithm


class State(NamedTuple):
    x: Tensor
    c: Tensor  # correction from own gradients to ∇f


@algorithm(
    "kgt",
    label="K-GT",
    family="gt",
    vectors_per_step=2,
    samples=5,
    needs={"smoothness", "topology"},
    zero_sum="c",
    defaults={"eta": 0.01},
    cite="Liu, Lin, Koloskova, Stich 2024, Decentralized Gradient Tracking with Local Steps",
    source="the code of two libraries, with their start C⁰ = 0",
    provenance="reconstructed",
)
class KGT(Algorithm):
    """Take several local steps per round, and correct each by the tracked deviation from the average direction.

    H = X, K times H ← H − η_t (G(H) + C);  Z = (X − H)/(K η_t), the mean direction
    X⁺ = W (X − κ K η_t Z),  C⁺ = C − Z + W Z;  C⁰ = 0;  κ is ``server``
    """

    local_steps: Count = 5
    server: Positive = 1.0

    @classmethod
    def declare(cls, *, local_steps: int, **others: Any) -> Properties:
        return replace(cls.properties, samples=local_steps, gradients=local_steps)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, c=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        eta, k = self.eta[t], self.local_steps
        z = torch.zeros_like(s.x)
        for s_local in range(t * k, t * k + k):
            z = z + grad(s.x - eta * z, s_local) + s.c
        x, wz = mix(s.x - self.server * eta * z, z / k)
        return State(x, s.c - z / k + wz)
