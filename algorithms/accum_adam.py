"""AccumAdam: decentralized Adam whose moments change once in several steps."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.options import Count, Decay, Positive
from bench.method import Algorithm, Grad, Mix, Steps, algorithm
from bench.method.schedules import Schedule


class State(NamedTuple):
    x: Tensor
    m: Tensor  # moving average of accumulated gradients
    v: Tensor  # and of their squares
    acc: Tensor  # gradients accumulated since the moments changed, over A


@algorithm(
    "accum_adam",
    label="AccumAdam",
    family="dadam",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    fixed_point="elsewhere",
    defaults={"eta": 0.03},
    cite="Wang et al. 2025, From Promise to Practice: Realizing High-performance Decentralized Training (AccumAdam)",
    source="a copy of the authors' code (WangZesen/Decent-DP, accum_adam_foreach) by others, without weight decay",
    provenance="reconstructed",
)
class AccumAdam(Algorithm):
    """Take Adam steps with the newest gradient, but change the moments only once in A steps, by the mean gradient.

    k = ⌈(t+1)/A⌉,  U = (M + (1−β₁) G)/(1−β₁ᵏ),  D = √((V + (1−β₂) G²)/(1−β₂ᵏ)) + ε,  G = G(X),  X⁺ = W X − η_t U/D
    S⁺ = S + G/A; every A steps M⁺ = β₁ (M + (1−β₁) S⁺),  V⁺ = β₂ (V + (1−β₂) (S⁺)²),  S⁺ = 0;  M⁰ = V⁰ = S⁰ = 0
    It does not converge on heterogeneous data, for any stepsizes.
    """

    epsilon: Positive = 1e-8
    beta1: Schedule
    beta2: Schedule
    one: Schedule  # 1 − β₁ᵏ
    two: Schedule  # 1 − β₂ᵏ
    share: Schedule  # 1/A
    ends: Schedule  # 1 where A steps are complete, else 0

    @staticmethod
    def stepsizes(
        at: Steps, eta: Positive = 0.01, beta1: Decay = 0.9, beta2: Decay = 0.999, accumulate: Count = 4
    ) -> dict[str, Any]:
        """η√(n/h), with h = t (diminishing) or T (fixed); η alone when constant. accumulate is A."""
        k = np.ceil((at.t + 1) / accumulate)
        return {
            "eta": eta * at.root,
            "beta1": beta1,
            "beta2": beta2,
            "one": 1 - beta1**k,
            "two": 1 - beta2**k,
            "share": 1 / accumulate,
            "ends": ((at.t + 1) % accumulate == 0).astype(float),
        }

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        zero = torch.zeros_like(x)
        return State(x, m=zero, v=zero, acc=zero)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g, b1, b2 = grad(s.x, t), self.beta1[t], self.beta2[t]
        u = (s.m + (1 - b1) * g) / self.one[t]
        d = ((s.v + (1 - b2) * g.square()) / self.two[t]).sqrt() + self.epsilon
        (x,) = mix(s.x)
        total, ends = s.acc + self.share[t] * g, self.ends[t] > 0
        m = torch.where(ends, b1 * (s.m + (1 - b1) * total), s.m)
        v = torch.where(ends, b2 * (s.v + (1 - b2) * total.square()), s.v)
        return State(x - self.eta[t] * u / d, m, v, torch.where(ends, torch.zeros_like(total), total))
