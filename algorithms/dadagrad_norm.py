"""D-AdaGrad-Norm: one adaptive stepsize per node, averaged over the network."""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, Properties, Steps, algorithm


class State(NamedTuple):
    x: Tensor
    s: Tensor  # sum of squared norms, one scalar per node


@algorithm(
    "dadagrad_norm",
    label="D-AdaGrad-Norm",
    vectors_per_step=1,
    scalars_per_step=1,
    rounds=2,
    assumes={"bounded heterogeneity"},
    cite="Huang, Li, Shen, He, Xu 2024, Achieving Near-Optimal Convergence for Distributed Minimax Optimization "
    "with Adaptive Stepsizes (D-AdaST)",
    source="the principle from the abstract; the rule for minimization is derived here",
    provenance="reconstructed",
)
class DAdaGradNorm(Algorithm):
    """Adapt one stepsize per node to its gradient norms, and mix the accumulated norms so that nodes agree on it.

    S⁺ = W (S + ‖G‖²),  X⁺ = W (X − η_t G/√S⁺),  G = G(X), ‖G‖² of each node;  S⁰ = ε
    track false: S⁺ = S + ‖G‖², with separate stepsizes of the nodes, which converges to a biased point
    """

    track: bool = True
    epsilon: Positive = 1e-8

    @staticmethod
    def stepsizes(at: Steps, eta: Positive = 1.0) -> dict[str, Any]:
        """η in every schedule: the accumulated norms make the steps smaller."""
        return {"eta": eta}

    @classmethod
    def declare(cls, *, track: bool, **others: Any) -> Properties:
        untracked = replace(cls.properties, scalars_per_step=0, rounds=1, fixed_point="elsewhere")
        return cls.properties if track else untracked

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, s=torch.zeros_like(x[..., :1]) + self.epsilon)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g = grad(s.x, t)
        total = s.s + g.square().sum(-1, keepdim=True)
        if self.track:
            (total,) = mix(total)
        (x,) = mix(s.x - self.eta[t] * g / total.sqrt())
        return State(x, total)
