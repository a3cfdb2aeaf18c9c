"""D²: decentralized training over decentralized data."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    x_old: Tensor
    step_old: Tensor  # η_{t−1} G₋


@algorithm(
    "d2",
    label="D²",
    vectors_per_step=1,
    needs={"smoothness", "topology"},
    lambda_min=-1 / 3,
    requires_float64=True,
    centralized_equivalent="sgd",
    defaults={"eta": 3.0, "schedule": "fixed"},
    cite="Tang et al. 2018, D²: Decentralized Training over Decentralized Data",
    source="the code of third parties; equal to exact diffusion (ed) with W instead of (I + W)/2",
    provenance="reconstructed",
)
class D2(Algorithm):
    """Step along differences of successive gradients, so that differences between the nodes' data cause no bias.

    X⁺ = W (2X − X₋ − η_t G(X) + η_{t−1} G₋);  X₋ = X⁰ and (ηG)₋ = 0 at the start
    """

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, x_old=x, step_old=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        step = self.eta[t] * grad(s.x, t)
        (x,) = mix(2 * s.x - s.x_old - step + s.step_old)
        return State(x, s.x, step)
