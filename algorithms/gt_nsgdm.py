"""GT-NSGDm: normalized steps along a tracked moving average, for heavy-tailed noise."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, Steps, algorithm, unit


class State(NamedTuple):
    x: Tensor
    v: Tensor  # moving average of own gradients
    y: Tensor  # tracks the average of v: ȳ = v̄


@algorithm(
    "gt_nsgdm",
    label="GT-NSGDm",
    vectors_per_step=2,
    rounds=2,
    estimates="y",
    tracks={"y": "v"},
    bounded_step=True,
    centralized_equivalent=True,
    scale_free=True,
    cite="Yu et al. 2025, Decentralized Nonconvex Optimization under Heavy-Tailed Noise: Normalization and Optimal "
    "Convergence",
    source="a summary with the paper's equations, and code of the authors of DeMuon (github.com/MozarTuring/DeMuon, "
    "commit 88ccadf, optim_network.py), where it is a baseline; the powers of T for an unknown tail, derived from "
    "the rate",
    provenance="reconstructed",
)
class GTNSGDm(Algorithm):
    """Take normalized steps along a tracked moving average of gradients, so that noise cannot make a step long.

    V⁺ = (1−α_t) V + α_t G(X),  Y⁺ = W (Y + V⁺ − V),  X⁺ = W (X − η_t unit(Y⁺));  V⁰ = Y⁰ = 0
    """

    @staticmethod
    def stepsizes(at: Steps, multiplier: Positive = 1.0, alpha: Positive = 0.1, p: Positive = 2.0) -> dict[str, Any]:
        """η_t = h^(−(2p−1)/(3p−2)),  α_t = min(1, h^(−p/(3p−2))), p in (1, 2] if moments up to p exist.

        The default p = 2 gives h^(−¾) and h^(−½), for an unknown tail. ``constant`` takes multiplier and alpha
        as given.
        """
        if not at.formula:
            return {"eta": multiplier * at.root, "alpha": alpha}
        of = 3 * p - 2
        return {"eta": multiplier * at.h ** (-(2 * p - 1) / of), "alpha": np.minimum(1.0, at.h ** (-p / of))}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        zero = torch.zeros_like(x)
        return State(x, v=zero, y=zero)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        v = torch.lerp(s.v, grad(s.x, t), self.alpha[t])
        (y,) = mix(s.y + v - s.v)
        (x,) = mix(s.x - self.eta[t] * unit(y))
        return State(x, v, y)
