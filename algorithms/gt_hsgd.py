"""GT-HSGD: tracking of a recursive, variance-reduced gradient."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Grad, Mix, algorithm
from bench.method.estimates import Recursive, start_gradient


class State(NamedTuple):
    x: Tensor
    v: Tensor  # recursive estimate of the own gradient
    y: Tensor  # tracks its average: ȳ = v̄


@algorithm(
    "gt_hsgd",
    label="GT-HSGD",
    vectors_per_step=2,
    rounds=2,
    gradients=2,
    start_samples=1,
    start_rounds=1,
    needs={"smoothness", "topology"},
    assumes={"mean-squared smoothness"},
    estimates="y",
    tracks={"y": "v"},
    centralized_equivalent=True,
    defaults={"eta": 1.0, "schedule": "fixed"},
    cite="Xin, Khan, Kar 2021, A Hybrid Variance-Reduced Method for Decentralized Stochastic Non-Convex Optimization",
    source="code of the authors of DoCoM (github.com/OscarYau525/docom, commit a7d5241), where it is a baseline",
    provenance="reconstructed",
)
class GTHSGD(Recursive):
    """Track a recursive gradient, whose variance decreases because its two gradients share one sample.

    X⁺ = W (X − η_t Y),  V⁺ = G(X⁺; s) + (1−β) (V − G(X; s)),  Y⁺ = W (Y + V⁺ − V), both gradients on one sample s
    V⁰ = mean of ``start_batches`` gradients, Y⁰ = W V⁰
    """

    beta: float = 0.1

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        v = start_gradient(grad, x, self.start_batches)
        (y,) = mix(v)
        return State(x, v, y)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (x,) = mix(s.x - self.eta[t] * s.y)
        v = grad(x, t + 1) + (1 - self.beta) * (s.v - grad(s.x, t + 1))
        (y,) = mix(s.y + v - s.v)
        return State(x, v, y)
