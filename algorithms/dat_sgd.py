"""DAT-SGD: gradients at a weighted average of the iterates, gossip of both."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, Steps, algorithm
from bench.method.schedules import Schedule


class State(NamedTuple):
    x: Tensor  # weighted average of the iterates, where gradients are evaluated
    w: Tensor  # iterates


@algorithm(
    "dat_sgd",
    label="DAT-SGD",
    vectors_per_step=2,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity", "convexity"},
    centralized_equivalent=True,
    defaults={"eta": 3.0},
    cite="Eisen, Dorfman, Levy 2025, Enhancing Parallelism in Decentralized Stochastic Convex Optimization",
    source="formulas in a summary of arXiv 2506.00961",
    provenance="reconstructed",
)
class DATSGD(Algorithm):
    """Evaluate gradients at a slowly changing average of the iterates, so that the nodes disagree less.

    W½ = w − η_t (t+1)/T G(X),  X½ = X + 2/(t+2) (W½ − X),  w⁺, X⁺ = W W½, W X½;  w⁰ = X⁰
    X is the average of the iterates with weights 1, 2, …; the paper's stepsize is η/T.
    """

    weight: Schedule  # (t+1)/T
    share: Schedule  # 2/(t+2)

    @staticmethod
    def stepsizes(at: Steps, eta: Positive = 0.3) -> dict[str, Any]:
        """η√(n/h), with h = t (diminishing) or T (fixed); η alone when constant."""
        return {"eta": eta * at.root, "weight": (at.t + 1) / at.T, "share": 2 / (at.t + 2)}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, w=x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        w = s.w - self.eta[t] * self.weight[t] * grad(s.x, t)
        x, w = mix(torch.lerp(s.x, w, self.share[t]), w)
        return State(x, w)
