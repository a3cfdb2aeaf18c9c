"""DSMT: momentum tracking with accelerated gossip in a single loop."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.method import Grad, Mix, algorithm
from bench.method.estimates import HeavyBall
from bench.method.gossip import lazily, slowed_momentum


class State(NamedTuple):
    x: Tensor
    x_old: Tensor  # X', the gossip before
    y: Tensor  # tracks the average momentum: ȳ = z̄
    y_old: Tensor  # Y'
    z: Tensor  # moving average of own gradients


@algorithm(
    "dsmt",
    label="DSMT",
    family="gt",
    vectors_per_step=2,
    rounds=2,
    start_samples=1,
    needs={"smoothness", "topology"},
    estimates="y",
    tracks={"y": "z"},
    static=True,
    defaults={"eta": 3.0, "schedule": "fixed"},
    cite="Huang, Pu, Nedić 2025, An Accelerated Distributed Stochastic Gradient Method with Momentum",
    source="github.com/Kun73/DSMT, commit 81a1471, NoncvxLogisticRegression/Optimizers/Dopt.py",
    provenance="code",
)
class DSMT(HeavyBall):
    """Track each node's moving average of gradients, and accelerate the mixing by momentum over successive rounds.

    X̃ = X − η_t Y, X̃' = X' − η_t Y,  X⁺ = (1+ω̃) W̄ X̃ − ω̃ X̃', X'⁺ = X̃,  Z⁺ = β Z + (1−β) G(X⁺)
    Ỹ = Y + Z⁺ − Z, Ỹ' = Y' + Z⁺ − Z,  Y⁺ = (1+ω̃) W̄ Ỹ − ω̃ Ỹ', Y'⁺ = Ỹ;  X' = X⁰, Y⁰ = Y' = Z⁰ = (1−β) G(X⁰)
    W̄ = (I + W)/2, ω̃ = (1+ω)/2 with ω of its λ₂; momentum theory: β = 1 − n^(−1/3) (1 − √ω̃)
    """

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        z = (1 - self.remembers()) * grad(x, 0)
        return State(x, x, z, z, z)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        move, omega = self.eta[t] * s.y, slowed_momentum(self.lambda_2)
        (x,) = lazily(mix, s.x - move)
        x = (1 + omega) * x - omega * (s.x_old - move)
        z = torch.lerp(grad(x, t + 1), s.z, self.remembers())
        (y,) = lazily(mix, s.y + z - s.z)
        y = (1 + omega) * y - omega * (s.y_old + z - s.z)
        return State(x, s.x - move, y, s.y + z - s.z, z)
