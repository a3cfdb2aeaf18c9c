"""FSPDA: a stochastic primal-dual method for random graphs."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.options import Positive
from bench.method import Algorithm, Grad, Mix, Properties, algorithm


class State(NamedTuple):
    x: Tensor
    dual: Tensor  # Λ


@algorithm(
    "fspda",
    label="FSPDA",
    vectors_per_step=1,
    needs={"smoothness", "topology"},
    zero_sum="dual",
    requires_float64=True,
    defaults={"eta": 1.0, "schedule": "fixed"},
    cite="Yau, Liu, Wai 2025, Fully Stochastic Primal-dual Gradient Algorithm for Non-convex Optimization on Random "
    "Graphs",
    source="equations (7) and (8) of the paper; github.com/OscarYau525/FSPDA, commit 7268e8f, updates the dual with "
    "new own and old received values",
    provenance="paper",
)
class FSPDA(Algorithm):
    """Enforce consensus by a dual variable, which is updated along the available edges of each round.

    X⁺ = X − η_t G(X) − κ Λ − γ ℒ X,  Λ⁺ = Λ + β ℒ X;  Λ⁰ = 0
    ℒ X = X − W X with the W of the round: the Laplacian of the available edges;  κ is ``pull``
    """

    pull: Positive = 0.1
    gamma: Positive = 0.5
    beta: Positive = 1.0

    @classmethod
    def declare(cls, *, pull: float, gamma: float, beta: float) -> Properties:
        """Require stability: the eigenvalues of every mode of ℒ must lie in the unit circle."""
        if not pull * beta < gamma <= 1 + pull * beta / 2:
            raise UserError(
                f"fspda is stable only if algo.pull·algo.beta < algo.gamma ≤ 1 + algo.pull·algo.beta/2; got {pull:g}·"
                f"{beta:g} and {gamma:g}."
            )
        return cls.properties

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, dual=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (wx,) = mix(s.x)
        apart = s.x - wx
        x = s.x - self.eta[t] * grad(s.x, t) - self.pull * s.dual - self.gamma * apart
        return State(x, s.dual + self.beta * apart)
