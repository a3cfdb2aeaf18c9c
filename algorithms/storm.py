"""Centralized STORM: recursive momentum (uses the exact average gradient)."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Grad, Mix, algorithm
from bench.method.estimates import Recursive, start_gradient


class State(NamedTuple):
    x: Tensor
    v: Tensor  # recursive estimate of the average gradient


@algorithm(
    "storm",
    label="STORM",
    family="gt_hsgd",
    vectors_per_step=1,
    gradients=2,
    start_samples=1,
    start_rounds=1,
    needs={"smoothness"},
    assumes={"mean-squared smoothness"},
    estimates="v",
    exact_average=True,
    centralized_equivalent=True,
    defaults={"eta": 3.0, "schedule": "fixed"},
    cite="Cutkosky, Orabona 2019, Momentum-Based Variance Reduction in Non-Convex SGD",
    source="github.com/google-research/google-research, commit 0c1bbe5, storm_optimizer/storm_optimizer.py, with given "
    "β and η instead of adaptive ones, without clipping",
    provenance="code",
)
class STORM(Recursive):
    """Update the gradient estimate by a gradient difference on one sample, so that its variance decreases.

    X⁺ = X − η_t V,  V⁺ = ḡ(X⁺; s) + (1−β) (V − ḡ(X; s)),  ḡ the average of all gradients on one sample s each
    V⁰ = mean of ``start_batches`` gradients
    """

    beta: float = 0.1

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        (v,) = mix(start_gradient(grad, x, self.start_batches))
        return State(x, v)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        x = s.x - self.eta[t] * s.v
        (v,) = mix(grad(x, t + 1) + (1 - self.beta) * (s.v - grad(s.x, t + 1)))
        return State(x, v)
