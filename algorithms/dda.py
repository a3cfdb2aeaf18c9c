"""DDA: distributed dual averaging."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, Steps, algorithm
from bench.method.schedules import Schedule


class State(NamedTuple):
    x: Tensor
    x0: Tensor
    z: Tensor  # mixed sum of gradients
    average: Tensor  # mean of the iterates so far


@algorithm(
    "dda",
    label="DDA",
    vectors_per_step=1,
    needs={"topology"},
    assumes={"bounded gradients", "convexity"},
    common_start=True,
    report="average",
    fixed_point="near",
    defaults={"eta": 0.1, "schedule": "fixed"},
    cite="Duchi, Agarwal, Wainwright 2012, Dual Averaging for Distributed Optimization",
    source="textbook form, without constraints",
    provenance="reconstructed",
)
class DDA(Algorithm):
    """Mix sums of gradients, and step from the start along them.

    Z⁺ = W Z + G(X),  X⁺ = X⁰ − η_t Z⁺;  Z⁰ = 0. Results are measured at the mean of X¹, X², …
    The default stepsize is slow on digits: larger ones score lower on the quadratics that it was chosen on.
    """

    share: Schedule  # 1/(t+1)

    @staticmethod
    def stepsizes(at: Steps, eta: Positive = 1.0) -> dict[str, Any]:
        """η/√(t+1) (diminishing) or η/√T (fixed); η alone when constant."""
        h = at.t + 1 if at.kind == "diminishing" else at.h
        return {"eta": eta / np.sqrt(h) if at.formula else eta * at.root, "share": 1 / (at.t + 1)}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, x, torch.zeros_like(x), x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g = grad(s.x, t)
        (z,) = mix(s.z)
        z = z + g
        x = s.x0 - self.eta[t] * z
        return State(x, s.x0, z, torch.lerp(s.average, x, self.share[t]))
