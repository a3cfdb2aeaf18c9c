"""Exact diffusion: D² with the lazy matrix, which allows any symmetric W."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Algorithm, Grad, Mix, algorithm
from bench.method.gossip import lazily


class State(NamedTuple):
    x: Tensor
    psi: Tensor  # ψ₋, result of the last gradient step


@algorithm(
    "ed",
    label="ED",
    family="d2",
    vectors_per_step=1,
    needs={"smoothness", "topology"},
    requires_float64=True,
    defaults={"eta": 3.0, "schedule": "fixed"},
    cite="Yuan, Ying, Zhao, Sayed 2019, Exact Diffusion for Distributed Optimization and Learning",
    source="github.com/Bluefog-Lib/bluefog, commit 0f6c3e8, examples/pytorch_optimization.py, by two of the authors",
    provenance="code",
)
class ED(Algorithm):
    """Correct every local step by the previous one, so that differences between the nodes' data cause no bias.

    ψ = X − η_t G(X),  X⁺ = W̃ (ψ + X − ψ₋),  W̃ = (I + W)/2;  ψ₋ = X⁰ at the start
    """

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, psi=x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        psi = s.x - self.eta[t] * grad(s.x, t)
        (x,) = lazily(mix, psi + s.x - s.psi)
        return State(x, psi)
