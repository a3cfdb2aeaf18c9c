"""D-SGT: stochastic gradient descent with gradient tracking."""

from dataclasses import replace
from typing import Any, Literal, NamedTuple

from torch import Tensor

from bench.method import Algorithm, Grad, Mix, Properties, algorithm


class State(NamedTuple):
    x: Tensor
    u: Tensor  # tracks the average gradient: ū = v̄
    v: Tensor  # own gradient


@algorithm(
    "dsgt",
    label="D-SGT",
    vectors_per_step=2,
    start_samples=1,
    needs={"smoothness", "topology"},
    estimates="u",
    tracks={"u": "v"},
    centralized_equivalent="sgd",
    defaults={"eta": 3.0, "schedule": "fixed"},
    cite="Li et al. 2024, Problem-Parameter-Free Decentralized Nonconvex Stochastic Optimization, Algorithm 1",
    source="arXiv:2402.08821, Algorithm 1",
    provenance="paper",
)
class DSGT(Algorithm):
    """Step along a tracker of the average gradient, so that differences between the nodes' data cause no bias.

    V⁰ = U⁰ = G(X⁰);  X⁺ = W (X − η_t U),  V⁺ = G(X⁺),  U⁺ = W U + V⁺ − V
    gossip twice, as in the released code: X⁺ = W (W X − η_t U)
    """

    gossip: Literal["once", "twice"] = "once"

    @classmethod
    def declare(cls, *, gossip: str, **others: Any) -> Properties:
        return cls.properties if gossip == "once" else replace(cls.properties, vectors_per_step=3, rounds=2)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        v = grad(x, 0)
        return State(x, u=v, v=v)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (x,) = mix(s.x) if self.gossip == "twice" else (s.x,)
        x, u = mix(x - self.eta[t] * s.u, s.u)
        v = grad(x, t + 1)
        return State(x, u + v - s.v, v)
