"""Push-Pull, also called AB: models are pulled, gradient trackers are pushed."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    y: Tensor  # tracks the average gradient: ȳ = v̄
    v: Tensor  # own gradient


@algorithm(
    "push_pull",
    label="Push-Pull",
    vectors_per_step=2,
    start_samples=1,
    needs={"smoothness", "topology"},
    estimates="y",
    tracks={"y": "v"},
    mixes="push and pull",
    centralized_equivalent="sgd",
    defaults={"eta": 3.0, "schedule": "fixed"},
    cite="Pu, Shi, Xu, Nedić 2021, Push–Pull Gradient Methods for Distributed Optimization in Networks",
    source="memory",
    provenance="reconstructed",
)
class PushPull(Algorithm):
    """Pull models by a row-stochastic matrix, and push the gradient tracker by a column-stochastic one.

    V⁰ = Y⁰ = G(X⁰);  X⁺ = R (X − η_t Y),  V⁺ = G(X⁺),  Y⁺ = C Y + V⁺ − V;  R row-, C column-stochastic
    """

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        v = grad(x, 0)
        return State(x, y=v, v=v)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (y,), (x,) = mix.push_pull(push=(s.y,), pull=(s.x - self.eta[t] * s.y,))
        v = grad(x, t + 1)
        return State(x, y + v - s.v, v)
