"""Momentum Tracking: momentum SGD whose momentum is tracked."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Decay
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    u: Tensor  # momentum of own gradients
    c: Tensor  # deviation of the own momentum from the average


@algorithm(
    "momentum_tracking",
    label="MT",
    family="gt",
    vectors_per_step=2,
    needs={"smoothness", "topology"},
    zero_sum="c",
    defaults={"eta": 0.1},
    cite="Takezawa et al. 2023, Momentum Tracking: Momentum Acceleration for Decentralized Deep Learning on "
    "Heterogeneous Data",
    source="github.com/yukiTakezawa/MomentumTracking, commit d9b126b, optimizer/momentum_tracking_optimizer.py, which "
    "starts C by an all-reduce; C⁰ = 0 has the zero sum that is needed",
    provenance="code",
)
class MomentumTracking(Algorithm):
    """Correct the local momentum by a tracked term, so that it follows the momentum of the average gradient.

    U⁺ = β U + G(X),  X⁺ = W X − η_t (U⁺ − C),  C⁺ = W (C − U⁺) + U⁺;  C⁰ = U⁰ = 0
    """

    beta: Decay = 0.9

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        zero = torch.zeros_like(x)
        return State(x, u=zero, c=zero)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        u = self.beta * s.u + grad(s.x, t)
        x, c = mix(s.x, s.c - u)
        return State(x - self.eta[t] * (u - s.c), u, c + u)
