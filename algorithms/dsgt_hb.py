"""DSGT-HB: gradient tracking with heavy-ball momentum."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from bench.method import Grad, Mix, algorithm
from bench.method.estimates import HeavyBall
from bench.method.gossip import lazily


class State(NamedTuple):
    x: Tensor
    y: Tensor  # tracks the average gradient: ȳ = v̄
    v: Tensor  # own gradient
    u: Tensor  # moving average of the tracker


@algorithm(
    "dsgt_hb",
    label="DSGT-HB",
    family="gt",
    vectors_per_step=2,
    rounds=2,
    start_samples=1,
    needs={"smoothness", "topology"},
    estimates="y",
    tracks={"y": "v"},
    static=True,
    defaults={"eta": 3.0},
    cite="Gao, Liu, Dai, Huang, Gu 2023, Distributed Stochastic Gradient Tracking Methods with Momentum Acceleration",
    source="code of the authors of DSMT (github.com/Kun73/DSMT, commit 81a1471), where it is a baseline",
    provenance="reconstructed",
)
class DSGTHB(HeavyBall):
    """Step along a moving average of the tracked gradient (heavy-ball momentum).

    X⁺ = W̃ (X − η_t U),  V⁺ = G(X⁺),  Y⁺ = W̃ (Y + V⁺ − V),  U⁺ = β U + (1−β) Y⁺,  W̃ = (I + W)/2
    Y⁰ = V⁰ = G(X⁰), U⁰ = (1−β) Y⁰;  momentum theory: β = 1 − n^(−1/3) (1 − √ω̃), with ω̃ of W̃ as in DSMT
    """

    momentum: Literal["theory", "given"] = "given"

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        v = grad(x, 0)
        return State(x, y=v, v=v, u=(1 - self.remembers()) * v)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (x,) = lazily(mix, s.x - self.eta[t] * s.u)
        v = grad(x, t + 1)
        (y,) = lazily(mix, s.y + v - s.v)
        return State(x, y, v, u=torch.lerp(y, s.u, self.remembers()))
