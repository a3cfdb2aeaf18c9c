"""Centralized NSGDm: normalized SGD with momentum (uses the exact average gradient)."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from algorithms.dnasa import DNASA
from bench.method import Algorithm, Grad, Mix, algorithm, unit


class State(NamedTuple):
    x: Tensor
    m: Tensor  # moving average of the average gradient


@algorithm(
    "nsgdm",
    label="NSGDm",
    vectors_per_step=1,
    estimates="m",
    exact_average=True,
    centralized_equivalent=True,
    scale_free=True,
    cite="Cutkosky, Mehta 2020, Momentum Improves Normalized SGD; Hübler, Yang, Li, He 2024, Parameter-Agnostic "
    "Optimization under Relaxed Smoothness",
    source="github.com/fhueb/parameter-agnostic-lzlo, commit 4a49c91, algorithm.py; the factors of n in α and η from "
    "D-NASA; order delayed is D-NASA on the complete graph",
    provenance="code",
)
class NSGDm(Algorithm):
    """Take normalized steps along a moving average of the exact average gradient.

    M⁺ = (1−α_t) M + α_t ḡ,  X⁺ = X − η_t unit(M⁺),  ḡ the average of all G(X);  M⁰ = 0
    order delayed: X⁺ = X − η_t unit(M), and M⁺ after it
    """

    order: Literal["momentum_first", "delayed"] = "momentum_first"
    stepsizes = staticmethod(DNASA.stepsizes)  # type: ignore[assignment]

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, m=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (g,) = mix(grad(s.x, t))
        m = torch.lerp(s.m, g, self.alpha[t])
        return State(s.x - self.eta[t] * unit(s.m if self.order == "delayed" else m), m)
