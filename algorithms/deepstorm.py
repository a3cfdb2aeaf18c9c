"""DEEPSTORM: tracked recursive gradients and proximal steps."""

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from bench.base.options import Positive
from bench.method import Grad, Mix, Steps, algorithm
from bench.method.estimates import Recursive, start_gradient
from bench.method.schedules import Schedule


class State(NamedTuple):
    x: Tensor
    wx: Tensor  # W X, sent together with the tracker
    d: Tensor  # recursive estimate of the own gradient
    y: Tensor  # tracks its average: ȳ = d̄


@algorithm(
    "deepstorm",
    label="DEEPSTORM",
    vectors_per_step=2,
    gradients=2,
    start_samples=1,
    start_rounds=1,
    needs={"smoothness"},
    assumes={"mean-squared smoothness"},
    estimates="y",
    tracks={"y": "d"},
    centralized_equivalent=True,
    proximal=True,
    defaults={"a0": 0.1},
    cite="Mancino-Ball, Miao, Xu, Chen 2023, Proximal Stochastic Recursive Momentum Methods (v2)",
    source="github.com/gmancino/DEEPSTORM, commit a57e1f3, methods/deepstormv2.py, whose loss is divided by n",
    provenance="code",
)
class DEEPSTORM(Recursive):
    """Take proximal steps along a tracked recursive gradient, whose variance decreases.

    X⁺ = prox_{η_t r}(W X − η_t Y),  D⁺ = G(X⁺; s) + (1−β_t) (D − G(X; s)),  Y⁺ = W (Y + D⁺ − D), on one sample s
    D⁰ = mean of ``start_batches`` gradients, Y⁰ = W D⁰
    """

    beta: Schedule

    @staticmethod
    def stepsizes(at: Steps, a0: Positive = 0.1, k0: Positive = 5.0, b0: Positive = 2.0) -> dict[str, Any]:
        """η_t = a₀ / (t+k₀)^⅓,  β_t = min(1, 1 − η_{t+1}/η_t + b₀ η_{t+1}²), also for fixed; constant: a₀, b₀ a₀²."""
        if not at.formula:
            return {"eta": a0 * at.root, "beta": np.minimum(1.0, b0 * a0**2)}
        eta, after = (a0 / (t + k0) ** (1 / 3) for t in (at.t, at.t + 1))
        return {"eta": eta, "beta": np.minimum(1.0, 1 - after / eta + b0 * after**2)}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        d = start_gradient(grad, x, self.start_batches)
        wx, y = mix(x, d)
        return State(x, wx, d, y)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        x = self.prox(s.wx - self.eta[t] * s.y, self.eta[t])
        d = grad(x, t + 1) + (1 - self.beta[t]) * (s.d - grad(s.x, t + 1))
        wx, y = mix(x, s.y + d - s.d)
        return State(x, wx, d, y)
