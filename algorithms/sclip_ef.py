"""SClip-EF: smoothed clipping of the difference between a gradient and its estimate."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Part, Positive
from bench.method import Algorithm, Grad, Mix, Steps, algorithm
from bench.method.schedules import Schedule


class State(NamedTuple):
    x: Tensor
    m: Tensor  # estimate of the own gradient


@algorithm(
    "sclip_ef",
    label="SClip-EF",
    vectors_per_step=1,
    needs={"smoothness"},
    assumes={"strong convexity", "symmetric noise"},
    fixed_point="elsewhere",
    defaults={"eta": 10.0},
    cite="Yu, Jakovetić, Kar 2023, Smoothed Gradient Clipping and Error Feedback for Decentralized Optimization under "
    "Symmetric Heavy-Tailed Noise",
    source="authors' code (optim_network.py, also in github.com/MozarTuring/DeMuon, commit 88ccadf); arXiv 2310.16920",
    provenance="code",
)
class SClipEF(Algorithm):
    """Estimate every local gradient by smoothly clipped corrections, and take steps along the estimate.

    U = G(X) − M,  M⁺ = β_t M + (1−β_t) φ_t U/√(U² + ε_t), coordinate by coordinate,  X⁺ = W (X − η_t M⁺);  M⁰ = 0
    """

    beta: Schedule
    phi: Schedule
    epsilon: Schedule

    @staticmethod
    def stepsizes(
        at: Steps, eta: Positive = 1.0, beta: Part = 0.9, phi: Positive = 1.0, epsilon: Positive = 1.0
    ) -> dict[str, Any]:
        """η/k^0.2, β/k^0.5, φ/k^0.5 and ε k^0.6, with k = t+1 (diminishing) or T (fixed); as given otherwise."""
        k = at.t + 1 if at.kind == "diminishing" else at.h if at.formula else 1.0
        root = at.root if not at.formula else 1.0
        return {"eta": eta * root / k**0.2, "beta": beta / k**0.5, "phi": phi / k**0.5, "epsilon": epsilon * k**0.6}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, m=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        u = grad(s.x, t) - s.m
        m = torch.lerp(self.phi[t] * u / (u.square() + self.epsilon[t]).sqrt(), s.m, self.beta[t])
        (x,) = mix(s.x - self.eta[t] * m)
        return State(x, m)
