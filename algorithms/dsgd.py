"""D-SGD: decentralized stochastic gradient descent."""

from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

from torch import Tensor

from bench.base.errors import UserError
from bench.base.options import Neutral
from bench.method import Algorithm, Grad, Mix, Properties, algorithm


class State(NamedTuple):
    x: Tensor


@algorithm(
    "dsgd",
    label="D-SGD",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    centralized_equivalent="sgd",
    defaults={"eta": 1.0},
    cite="Lian et al. 2017, Can Decentralized Algorithms Outperform Centralized Algorithms?",
    source="arXiv:2402.08821, where it is a baseline, with W after the step",
    provenance="paper",
)
class DSGD(Algorithm):
    """Take a local stochastic gradient step, then average the model with the neighbors.

    X⁺ = W (X − η_t G(X))
    order combine_while_adapting: X⁺ = W X − η_t G(X);  combine_then_adapt: Z = W X,  X⁺ = Z − η_t G(Z)
    gossip twice, as in the released code of D-NASA's paper: X⁺ = W (W X − η_t G(X))
    """

    gossip: Literal["once", "twice"] = "once"
    order: Annotated[
        Literal["adapt_then_combine", "combine_while_adapting", "combine_then_adapt"], Neutral("adapt_then_combine")
    ] = "adapt_then_combine"

    @classmethod
    def declare(cls, *, gossip: str, order: str = "adapt_then_combine", **others: Any) -> Properties:
        if gossip == "once":
            if order == "combine_while_adapting":
                return replace(cls.properties, centralized_equivalent=False)
            return cls.properties
        if order != "adapt_then_combine":
            raise UserError(f"algo.gossip=twice needs algo.order=adapt_then_combine, got algo.order={order}.")
        return replace(cls.properties, vectors_per_step=2, rounds=2)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        if self.order != "adapt_then_combine":
            (x,) = mix(s.x)
            return State(x - self.eta[t] * grad(x if self.order == "combine_then_adapt" else s.x, t))
        g = grad(s.x, t)
        (x,) = mix(s.x) if self.gossip == "twice" else (s.x,)
        (x,) = mix(x - self.eta[t] * g)
        return State(x)
