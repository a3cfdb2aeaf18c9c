"""MG-DSGD: several gradients, then several rounds of accelerated gossip."""

from dataclasses import replace
from typing import Any, NamedTuple

from torch import Tensor

from bench.base.options import Count
from bench.method import Algorithm, Grad, Mix, Properties, algorithm
from bench.method.estimates import mean_gradient
from bench.method.gossip import accelerated


class State(NamedTuple):
    x: Tensor


@algorithm(
    "mg_dsgd",
    label="MG-DSGD",
    family="dsgd",
    vectors_per_step=4,
    rounds=4,
    samples=4,
    needs={"smoothness", "topology"},
    assumes={"bounded heterogeneity"},
    static=True,
    accelerates=4,
    centralized_equivalent=True,
    defaults={"eta": 0.03},
    cite="Yuan et al. 2022, Revisiting Optimal Convergence Rate for Smooth and Non-convex Stochastic Decentralized "
    "Optimization",
    source="the abstract and memory; the gossip as in the code of three libraries",
    provenance="reconstructed",
)
class MGDSGD(Algorithm):
    """Step along the mean of several gradients, then mix by several rounds of accelerated gossip.

    X⁺ = FG_R (X − η_t Ḡ),  Ḡ the mean of R gradients at X, FG_R as in bench/method/gossip.py
    """

    rounds: Count = 4

    @classmethod
    def declare(cls, *, rounds: int, **others: Any) -> Properties:
        names = ("vectors_per_step", "rounds", "samples", "gradients", "accelerates")
        costs: dict[str, Any] = dict.fromkeys(names, rounds)
        return replace(cls.properties, **costs)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g = mean_gradient(grad, s.x, t * self.rounds, self.rounds)
        (x,) = accelerated(mix, self.rho, self.rounds, s.x - self.eta[t] * g)
        return State(x)
