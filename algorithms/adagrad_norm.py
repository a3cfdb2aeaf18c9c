"""Centralized AdaGrad-Norm: one adaptive stepsize (uses the exact average gradient)."""

from typing import NamedTuple

import torch
from torch import Tensor

from algorithms.dadagrad_norm import DAdaGradNorm
from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    s: Tensor  # sum of squared norms, a scalar


@algorithm(
    "adagrad_norm",
    label="AdaGrad-Norm",
    family="dadagrad_norm",
    vectors_per_step=1,
    exact_average=True,
    centralized_equivalent=True,
    cite="Ward, Wu, Bottou 2020, AdaGrad Stepsizes: Sharp Convergence over Nonconvex Landscapes",
    source="the sum over the whole vector from memory, as in code of Hübler et al. 2024 "
    "(github.com/fhueb/parameter-agnostic-lzlo, commit 4a49c91, algorithm.py), where it is a baseline; the release "
    "of one author (github.com/xwuShirley/pytorch, commit 6c098b4) sums each row of a weight matrix separately",
    provenance="reconstructed",
)
class AdaGradNorm(Algorithm):
    """Divide the stepsize by the root of the sum of all squared norms of the exact average gradient.

    S⁺ = S + ‖ḡ‖²,  X⁺ = X − η ḡ/√(S⁺ + b₀²),  ḡ the average of all G(X);  S⁰ = 0
    """

    b0: Positive = 1e-8
    stepsizes = staticmethod(DAdaGradNorm.stepsizes)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, s=torch.zeros_like(x[..., :1]))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (g,) = mix(grad(s.x, t))
        total = s.s + g.square().sum(-1, keepdim=True)
        return State(s.x - self.eta[t] * g / (total + self.b0**2).sqrt(), total)
