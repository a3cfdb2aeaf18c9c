"""Centralized DoG: stepsizes from distances and gradient norms (uses the exact average gradient)."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, Steps, algorithm

ONCE = 1e-8
"""Initial value of the sum of squared gradient norms."""


class State(NamedTuple):
    x: Tensor
    x0: Tensor
    far: Tensor  # r̄, largest distance from x⁰ so far, a scalar
    total: Tensor  # sum of ‖ḡ‖², a scalar
    average: Tensor  # x̂, average with larger weights of later points


@algorithm(
    "dog",
    label="DoG",
    vectors_per_step=1,
    exact_average=True,
    report="average",
    centralized_equivalent=True,
    cite="Ivgi, Hinder, Carmon 2023, DoG is SGD's Best Friend: A Parameter-Free Dynamic Step Size Schedule",
    source="github.com/formll/dog, commit 7c2fd4b, src/dog/torch/dog.py and averager.py",
    provenance="code",
)
class DoG(Algorithm):
    """Set the stepsize to the largest distance from the start over the root of the summed squared gradient norms.

    r̄⁺ = max(r̄, ‖X − X⁰‖),  S⁺ = S + ‖ḡ‖²,  X⁺ = X − r̄⁺/√S⁺ ḡ,  ḡ the average of all G(X)
    x̂⁺ = (1−w) x̂ + w X⁺,  w = 9/(9+t);  r̄⁰ = ε (1 + ‖X⁰‖),  S⁰ = 1e-8. Results are measured at x̂.
    """

    epsilon: Positive = 1e-6

    @staticmethod
    def stepsizes(at: Steps) -> dict[str, Any]:
        """No stepsizes: the schedule has no effect."""
        return {}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        far = self.epsilon * (1 + torch.linalg.vector_norm(x, dim=-1, keepdim=True))
        return State(x, x, far, torch.full_like(far, ONCE), x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (g,) = mix(grad(s.x, t))
        far = torch.maximum(s.far, torch.linalg.vector_norm(s.x - s.x0, dim=-1, keepdim=True))
        total = s.total + g.square().sum(-1, keepdim=True)
        x = s.x - far / total.sqrt() * g
        return State(x, s.x0, far, total, torch.lerp(s.average, x, 9 / (9 + t)))
