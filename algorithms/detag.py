"""DeTAG: gradient tracking with accelerated gossip that overlaps with the computation."""

from dataclasses import replace
from typing import Any, NamedTuple

from torch import Tensor

from bench.base.options import Count
from bench.method import Algorithm, Grad, Mix, Properties, algorithm
from bench.method.estimates import mean_gradient
from bench.method.gossip import accelerated


class State(NamedTuple):
    x: Tensor
    y: Tensor  # tracks the average gradient of the previous phase: ȳ = mean of g
    g: Tensor  # Ḡ₋, mean of own gradients in the previous phase


@algorithm(
    "detag",
    label="DeTAG",
    family="gt",
    vectors_per_step=8,
    rounds=4,
    samples=4,
    start_samples=1,
    needs={"smoothness", "topology"},
    estimates="y",
    tracks={"y": "g"},
    static=True,
    accelerates=4,
    centralized_equivalent=True,
    defaults={"eta": 1.0, "schedule": "fixed"},
    cite="Lu, De Sa 2021, Optimal Complexity in Decentralized Training",
    source="the code of a third party, with corrected start and buffer",
    provenance="reconstructed",
)
class DeTAG(Algorithm):
    """Track the average of several gradients, and mix model and tracker by accelerated gossip.

    X⁺ = FG_R(X) − η_t FG_R(Y),  Y⁺ = FG_R(Y) + Ḡ − Ḡ₋,  Ḡ the mean of R gradients at X, FG_R as in
    bench/method/gossip.py;  Y⁰ = Ḡ₋ = G(X⁰)
    """

    rounds: Count = 4

    @classmethod
    def declare(cls, *, rounds: int, **others: Any) -> Properties:
        costs: dict[str, Any] = dict.fromkeys(("rounds", "samples", "gradients", "accelerates"), rounds)
        return replace(cls.properties, vectors_per_step=2 * rounds, **costs)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        g = grad(x, 0, stream=1)
        return State(x, y=g, g=g)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g = mean_gradient(grad, s.x, t * self.rounds, self.rounds)
        x, y = accelerated(mix, self.rho, self.rounds, s.x, s.y)
        return State(x - self.eta[t] * y, y + g - s.g, g)
