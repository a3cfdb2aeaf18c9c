"""Push-DIGing: gradient tracking on directed graphs, by pushing."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor  # u / w
    u: Tensor
    w: Tensor  # (R, k, 1)
    y: Tensor  # tracks the average gradient: ȳ = v̄
    v: Tensor  # own gradient


@algorithm(
    "push_diging",
    label="Push-DIGing",
    vectors_per_step=2,
    scalars_per_step=1,
    start_samples=1,
    needs={"smoothness", "topology"},
    estimates="y",
    tracks={"y": "v"},
    mixes="push",
    centralized_equivalent="sgd",
    defaults={"eta": 3.0, "schedule": "fixed"},
    cite="Nedić, Olshevsky, Shi 2017, Achieving Geometric Convergence over Time-Varying Graphs, Algorithm 2",
    source="the code of a library (github.com/Bluefog-Lib/bluefog, commit 0f6c3e8)",
    provenance="reconstructed",
)
class PushDIGing(Algorithm):
    """Track the average gradient on directed graphs, and divide by pushed weights to remove the bias of pushing.

    V⁰ = Y⁰ = G(X⁰), U⁰ = X⁰, w⁰ = 1;  U⁺ = A (U − η_t Y),  w⁺ = A w,  X⁺ = U⁺ / w⁺,  V⁺ = G(X⁺),
    Y⁺ = A Y + V⁺ − V;  A column-stochastic, all three in one message
    """

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        v = grad(x, 0)
        return State(x, u=x, w=x.new_ones(*x.shape[:2], 1), y=v, v=v)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        u, w, y = mix.push(s.u - self.eta[t] * s.y, s.w, s.y)
        x = u / w
        v = grad(x, t + 1)
        return State(x, u, w, y + v - s.v, v)
