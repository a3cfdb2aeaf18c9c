"""ProxSkip: gradient steps with a dual correction and random communication."""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, Properties, algorithm


class State(NamedTuple):
    x: Tensor
    y: Tensor  # dual: sum of the changes by mixing


@algorithm(
    "proxskip",
    label="ProxSkip",
    family="d2",
    vectors_per_step=0.2,
    rounds=0.2,
    needs={"smoothness", "topology"},
    zero_sum="y",
    requires_float64=True,
    defaults={"eta": 0.1, "schedule": "fixed"},
    cite="Guo, Alghunaim, Yuan, Condat, Cao 2023, Revisiting Decentralized ProxSkip: Achieving Linear Speedup",
    source="code of the authors of FSPDA, where it is a baseline",
    provenance="reconstructed",
)
class ProxSkip(Algorithm):
    """Communicate only when a shared random coin allows it, and correct local steps by a dual variable.

    Z = X − η_t G(X) − Y;  with probability p, one coin for all: X⁺ = (1−c) Z + c W Z,  Y⁺ = Y + p (Z − X⁺)
    else X⁺ = Z, Y⁺ = Y;  Y⁰ = 0
    """

    p: Positive = 0.2
    c: Positive = 0.5

    @classmethod
    def declare(cls, *, p: float, c: float, **others: Any) -> Properties:
        """The eigenvalues of (1−c) I + c W must lie above −p/(2+p), or noise grows: p = 1 gives the −1/3 of D²."""
        bound = 1 - (1 + p / (2 + p)) / c
        return replace(cls.properties, vectors_per_step=p, rounds=p, lambda_min=bound if bound >= -1 else None)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, y=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        z = s.x - self.eta[t] * grad(s.x, t) - s.y
        (wz,) = mix(z, when=self.coin(t, self.p))
        x = z + self.c * (wz - z)  # wz = z without communication
        return State(x, s.y + self.p * (z - x))
