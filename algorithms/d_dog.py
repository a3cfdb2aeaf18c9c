"""D-DoG: DoG's stepsizes on gradient tracking. Experimental and unpublished."""

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, Properties, Steps, algorithm

ONCE = 1e-8
"""Initial value of the sum of squared tracker norms."""


class State(NamedTuple):
    x: Tensor
    y: Tensor  # tracks the average gradient: ȳ = v̄
    v: Tensor  # own gradient
    x0: Tensor
    far: Tensor  # R, squared distance from x⁰, a scalar per node
    total: Tensor  # S, sum of ‖y‖², a scalar per node
    average: Tensor  # x̂, average with larger weights of later points


@algorithm(
    "d_dog",
    label="D-DoG",
    vectors_per_step=2,
    scalars_per_step=2,
    start_samples=1,
    estimates="y",
    tracks={"y": "v"},
    report="average",
    cite="unpublished; stepsizes of Ivgi, Hinder, Carmon 2023, DoG is SGD's Best Friend, on gradient tracking",
    source="derived here; there is no theory yet",
    provenance="reconstructed",
    published=False,
    family="dog",
)
class DDoG(Algorithm):
    """Step along the tracker with DoG's stepsize, whose distance and sum of squared norms the nodes average.

    R½ = max(R, ‖X − X⁰‖²),  S½ = S + ‖Y‖²,  (X⁺, R⁺, S⁺, Z) = W (X − √(R½/S½) Y, R½, S½, Y),  Y⁺ = Z + G(X⁺) − G(X)
    x̂⁺ = (1−w) x̂ + w X⁺,  w = 9/(9+t);  Y⁰ = G(X⁰),  R⁰ = (ε (1 + ‖X⁰‖))²,  S⁰ = 1e-8. Results are measured at x̂.
    form three_rounds: (R⁺, S⁺) = W (R½, S½),  X⁺ = W (X − √(R⁺/S⁺) Y),  Y⁺ = W (Y + G(X⁺) − G(X)). Y is then averaged
    before its norm is taken, so that S is too small and steps are too long: one seed in five fails on a9a.
    """

    form: Literal["one_round", "three_rounds"] = "one_round"
    epsilon: Positive = 1e-6

    @staticmethod
    def stepsizes(at: Steps) -> dict[str, Any]:
        """The weights of the average x̂ in every schedule; the stepsizes come from the iterates."""
        return {"alpha": 9 / (9 + at.t)}

    @classmethod
    def declare(cls, *, form: str, **others: Any) -> Properties:
        return cls.properties if form == "one_round" else replace(cls.properties, rounds=3)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        v = grad(x, 0)
        far = (self.epsilon * (1 + torch.linalg.vector_norm(x, dim=-1, keepdim=True))).square()
        return State(x, v, v, x, far, torch.full_like(far, ONCE), x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        far = torch.maximum(s.far, squared_norm(s.x - s.x0))
        total = s.total + squared_norm(s.y)
        if self.form == "one_round":
            x, y, far, total = mix(s.x - (far / total).sqrt() * s.y, s.y, far, total)
            v = grad(x, t + 1)
            y = y + v - s.v
        else:
            far, total = mix(far, total)
            (x,) = mix(s.x - (far / total).sqrt() * s.y)
            v = grad(x, t + 1)
            (y,) = mix(s.y + v - s.v)
        return State(x, y, v, s.x0, far, total, torch.lerp(s.average, x, self.alpha[t]))


def squared_norm(x: Tensor) -> Tensor:
    """Return ‖x‖² of each node."""
    return x.square().sum(-1, keepdim=True)
