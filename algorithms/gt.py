"""GT: stochastic gradient tracking in its three forms."""

from dataclasses import replace
from typing import Any, Literal, NamedTuple

from torch import Tensor

from bench.method import Algorithm, Grad, Mix, Properties, algorithm


class State(NamedTuple):
    x: Tensor
    y: Tensor  # tracks the average gradient: ȳ = v̄
    v: Tensor  # own gradient


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
    cite="Xu, Zhu, Soh, Xie 2015, Augmented Distributed Gradient Methods; Di Lorenzo, Scutari 2016, NEXT; Pu, Nedić "
    "2021, Distributed Stochastic Gradient Tracking Methods",
    source="form atc: github.com/Kun73/DSMT, commit 81a1471, by the authors of the third paper, with (I + W)/2; the "
    "other forms: code of third parties",
    provenance="code",
)
class GT(Algorithm):
    """Step along a tracker of the average gradient, so that differences between the nodes' data cause no bias.

    form atc (adapt, then combine): X⁺ = W (X − η_t Y),  Y⁺ = W (Y + V⁺ − V)
    semi: X⁺ = W (X − η_t Y),  Y⁺ = W Y + V⁺ − V;  awc (adapt while combining): X⁺ = W X − η_t Y,  Y⁺ as in semi
    V⁺ = G(X⁺);  Y⁰ = V⁰ = G(X⁰), or Y⁰ = W V⁰ with begins=mixed
    """

    form: Literal["atc", "semi", "awc"] = "atc"
    begins: Literal["gradient", "mixed"] = "gradient"

    @classmethod
    def declare(cls, *, form: str, begins: str, **others: Any) -> Properties:
        rounds, start = 2 if form == "atc" else 1, 1 if begins == "mixed" else 0
        return replace(
            cls.properties, rounds=rounds, start_rounds=start, centralized_equivalent=False if form == "awc" else "sgd"
        )

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        v = grad(x, 0)
        (y,) = mix(v) if self.begins == "mixed" else (v,)
        return State(x, y, v)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        move = self.eta[t] * s.y
        if self.form == "atc":
            (x,) = mix(s.x - move)
            v = grad(x, t + 1)
            (y,) = mix(s.y + v - s.v)
            return State(x, y, v)
        x, y = mix(s.x - move, s.y) if self.form == "semi" else mix(s.x, s.y)
        x = x if self.form == "semi" else x - move
        v = grad(x, t + 1)
        return State(x, y + v - s.v, v)
