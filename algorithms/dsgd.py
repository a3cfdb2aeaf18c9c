"""D-SGD: decentralized stochastic gradient descent."""

from dataclasses import replace
from typing import Any, Literal, NamedTuple

from torch import Tensor

from bench.method import Algorithm, Declaration, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor


@algorithm(
    "dsgd",
    label="D-SGD",
    sends=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    pooled=True,
    cite="Lian et al. 2017, Can Decentralized Algorithms Outperform Centralized Algorithms?",
)
class DSGD(Algorithm):
    """X⁺ = W (X − η_t G(X));  gossip twice, as in the released code of D-NASA's paper: X⁺ = W (W X − η_t G(X))"""

    gossip: Literal["once", "twice"] = "once"

    @classmethod
    def declare(cls, *, gossip: str, **others: Any) -> Declaration:
        return cls.declaration if gossip == "once" else replace(cls.declaration, sends=2, rounds=2)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g = grad(s.x, t)
        (x,) = mix(s.x) if self.gossip == "twice" else (s.x,)
        (x,) = mix(x - self.eta[t] * g)
        return State(x)
