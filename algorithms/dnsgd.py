"""DNSGD: normalized gradient tracking with accelerated gossip, for relaxed smoothness."""

from dataclasses import replace
from typing import Any, NamedTuple

from torch import Tensor

from bench.base.options import Count
from bench.method import Algorithm, Grad, Mix, Properties, algorithm, unit
from bench.method.estimates import mean_gradient
from bench.method.gossip import accelerated


class State(NamedTuple):
    x: Tensor
    y: Tensor  # tracks the average gradient: ȳ = ḡ
    g: Tensor  # own gradient


@algorithm(
    "dnsgd",
    label="DNSGD",
    vectors_per_step=8,
    rounds=8,
    start_samples=1,
    start_rounds=4,
    needs={"smoothness", "heterogeneity", "topology"},
    assumes={"relaxed smoothness"},
    estimates="y",
    tracks={"y": "g"},
    static=True,
    accelerates=4,
    scale_free=True,
    centralized_equivalent=True,
    defaults={"eta": 1.0},
    cite="Luo, Cui, Jia, Chen 2025, Decentralized Stochastic Nonconvex Optimization under the Relaxed Smoothness",
    source="the parts (normalization, gradient tracking, accelerated gossip, batches) from the abstract and the "
    "reviews; their order from memory",
    provenance="reconstructed",
)
class DNSGD(Algorithm):
    """Take normalized steps along the tracked gradient, and mix by several rounds of accelerated gossip.

    X⁺ = FG_R (X − η_t unit(Y)),  Y⁺ = FG_R (Y + Ḡ⁺ − Ḡ),  Ḡ⁺ the mean of ``batches`` gradients at X⁺
    Y⁰ = FG_R (Ḡ⁰);  FG_R as in bench/method/gossip.py
    """

    rounds: Count = 4
    batches: Count = 1

    @classmethod
    def declare(cls, *, rounds: int, batches: int, **others: Any) -> Properties:
        properties = replace(cls.properties, samples=batches, gradients=batches, start_samples=batches)
        return replace(
            properties, vectors_per_step=2 * rounds, rounds=2 * rounds, start_rounds=rounds, accelerates=rounds
        )

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        g = mean_gradient(grad, x, 0, self.batches)
        (y,) = accelerated(mix, self.rho, self.rounds, g)
        return State(x, y, g)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (x,) = accelerated(mix, self.rho, self.rounds, s.x - self.eta[t] * unit(s.y))
        g = mean_gradient(grad, x, (t + 1) * self.batches, self.batches)
        (y,) = accelerated(mix, self.rho, self.rounds, s.y + g - s.g)
        return State(x, y, g)
