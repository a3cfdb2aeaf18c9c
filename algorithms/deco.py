"""DECO: decentralized coin betting."""

import math
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, Properties, Steps, algorithm
from bench.method.schedules import Schedule


class State(NamedTuple):
    x: Tensor
    x0: Tensor
    s: Tensor  # mixed sum of the coins
    w: Tensor  # wealth, a scalar; constant in version ii


@algorithm(
    "deco",
    label="DECO",
    vectors_per_step=1,
    scalars_per_step=1,
    assumes={"bounded gradients", "convexity"},
    common_start=True,
    fixed_point="near",
    centralized_equivalent=True,
    cite="Ortega, Jafarkhani 2025, on decentralized parameter-free online learning by coin betting (DECO)",
    source="github.com/TomasOrtega/DECO, commit 83e268e, src/deco, by the authors, which divides the sum of t coins "
    "by t; here by t+1, as the bettor of Krichevsky and Trofimov does",
    provenance="code",
)
class DECO(Algorithm):
    """Bet a fraction of a wealth on the next gradient, so that no distance to the minimizer has to be known.

    C = −G(X)/b,  S⁺ = W (S + C);  S⁰ = 0
    version i: w⁺ = W (w + ⟨C, X − X⁰⟩),  X⁺ = X⁰ + S⁺ w⁺/(t+2);  w⁰ = 1
    version ii: X⁺ = X⁰ + S⁺ F_{t+1}(‖S⁺‖)/(t+2),  F_k(r) = 2ᵏ/π B((k+1+r)/2, (k+1−r)/2), B Euler's beta function
    b must bound the norm of every gradient.
    """

    version: Literal["i", "ii"] = "i"
    share: Schedule  # 1/(t+2)
    time: Schedule  # t+2

    @staticmethod
    def stepsizes(at: Steps, bound: Positive = 5.0) -> dict[str, Any]:
        """1/b in every schedule; bound is b, at least the largest norm of a gradient."""
        return {"eta": 1 / bound, "share": 1 / (at.t + 2), "time": at.t + 2}

    @classmethod
    def declare(cls, *, version: str, **others: Any) -> Properties:
        return (
            cls.properties if version == "i" else replace(cls.properties, scalars_per_step=0, diagnostic_states=("w",))
        )

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, x, torch.zeros_like(x), torch.ones_like(x[..., :1]))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        coin = -self.eta[t] * grad(s.x, t)
        if self.version == "i":
            total, w = mix(s.s + coin, s.w + (coin * (s.x - s.x0)).sum(-1, keepdim=True))
            return State(s.x0 + self.share[t] * total * w, s.x0, total, w)
        (total,) = mix(s.s + coin)
        return State(s.x0 + self.share[t] * total * potential(total, self.time[t]), s.x0, total, s.w)


def potential(total: Tensor, time: Tensor) -> Tensor:
    """Return F_k(‖S‖) of each node, (R, k, 1), with time = k + 1; in float64, since large logarithms cancel."""
    norm, time = torch.linalg.vector_norm(total, dim=-1, keepdim=True, dtype=torch.float64), time.double()
    log_beta = torch.lgamma((time + norm) / 2) + torch.lgamma((time - norm) / 2) - torch.lgamma(time)
    return torch.exp(log_beta + (time - 1) * math.log(2) - math.log(math.pi)).to(total.dtype)
