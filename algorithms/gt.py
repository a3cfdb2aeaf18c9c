"""GT: stochastic gradient tracking in its three forms, with common or local stepsizes."""

from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Neutral
from bench.method import Algorithm, Grad, Mix, Properties, algorithm, unit

ITERATIONS = 10
"""Power iterations that estimate the curvature of f_i."""


class State(NamedTuple):
    x: Tensor
    y: Tensor  # tracks the average gradient: ȳ = v̄
    v: Tensor  # own gradient


class LocalState(NamedTuple):
    x: Tensor
    y: Tensor
    v: Tensor
    curvature: Tensor  # L_i of each node, a scalar


@algorithm(
    "gt",
    label="GT",
    vectors_per_step=2,
    rounds=2,
    start_samples=1,
    needs={"smoothness", "topology"},
    estimates="y",
    tracks={"y": "v"},
    centralized_equivalent="sgd",
    defaults={"eta": 3.0, "schedule": "fixed"},
    cite="Xu, Zhu, Soh, Xie 2015, Augmented Distributed Gradient Methods; Di Lorenzo, Scutari 2016, NEXT; Pu, Nedić "
    "2021, Distributed Stochastic Gradient Tracking Methods; local stepsizes: Nedić, Olshevsky, Shi, Uribe 2017, "
    "Geometrically Convergent Distributed Optimization with Uncoordinated Step-Sizes",
    source="form atc: github.com/Kun73/DSMT, commit 81a1471, by the authors of the third paper, with (I + W)/2; the "
    "other forms: code of third parties; local stepsizes in textbook form, the estimate of L_i is ours",
    provenance="code",
)
class GT(Algorithm):
    """Step along a tracker of the average gradient, so that differences between the nodes' data cause no bias.

    form atc (adapt, then combine): X⁺ = W (X − η_t Y),  Y⁺ = W (Y + V⁺ − V)
    semi: X⁺ = W (X − η_t Y),  Y⁺ = W Y + V⁺ − V;  awc (adapt while combining): X⁺ = W X − η_t Y,  Y⁺ as in semi
    V⁺ = G(X⁺);  Y⁰ = V⁰ = G(X⁰), or Y⁰ = W V⁰ with begins=mixed
    local_stepsizes: η_t/L_i on node i, L_i from 10 power iterations on the full gradients of f_i around X⁰
    """

    form: Literal["atc", "semi", "awc"] = "atc"
    begins: Literal["gradient", "mixed"] = "gradient"
    local_stepsizes: Annotated[bool, Neutral(False)] = False

    @classmethod
    def declare(cls, *, form: str, begins: str, local_stepsizes: bool = False, **others: Any) -> Properties:
        rounds, start = 2 if form == "atc" else 1, 1 if begins == "mixed" else 0
        is_sgd = form != "awc" and not local_stepsizes
        return replace(
            cls.properties,
            rounds=rounds,
            start_rounds=start,
            centralized_equivalent="sgd" if is_sgd else False,
            provenance="code" if form == "atc" and not local_stepsizes else "reconstructed",
        )

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State | LocalState:
        v = grad(x, 0)
        (y,) = mix(v) if self.begins == "mixed" else (v,)
        return LocalState(x, y, v, curvature(x, grad)) if self.local_stepsizes else State(x, y, v)

    def step(self, s: State | LocalState, t: int, grad: Grad, mix: Mix) -> State | LocalState:
        move = self.eta[t] * s.y if isinstance(s, State) else self.eta[t] / s.curvature * s.y
        if self.form == "atc":
            (x,) = mix(s.x - move)
            v = grad(x, t + 1)
            (y,) = mix(s.y + v - s.v)
            return s._replace(x=x, y=y, v=v)
        x, y = mix(s.x - move, s.y) if self.form == "semi" else mix(s.x, s.y)
        x = x if self.form == "semi" else x - move
        v = grad(x, t + 1)
        return s._replace(x=x, y=y + v - s.v, v=v)


def curvature(x: Tensor, grad: Grad) -> Tensor:
    """Return the largest curvature of f_i near x that power iterations find, (R, k, 1); 1 if the gradient is constant.

    The direction has length 1, so that differences of float32 gradients do not cancel.
    """
    g = turned = grad.full(x)
    for _ in range(ITERATIONS):
        turned = grad.full(x + unit(turned)) - g
    found = torch.linalg.vector_norm(turned, dim=-1, keepdim=True)
    return torch.where(found > 0, found, torch.ones_like(found))
