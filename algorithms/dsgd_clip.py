"""DSGD-GClip: decentralized stochastic gradient descent with clipped gradients."""

from typing import Annotated, Any, Literal, NamedTuple

import torch
from torch import Tensor

from bench.base.options import AtLeast, Neutral, Positive
from bench.method import Algorithm, Grad, Mix, Steps, algorithm
from bench.method.schedules import Schedule


class State(NamedTuple):
    x: Tensor


@algorithm(
    "dsgd_clip",
    label="DSGD-Clip",
    family="dsgd",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    fixed_point="elsewhere",
    defaults={"eta": 1.0},
    cite="Armacki, Cai, Sayed 2026, Decentralized SGD under Heavy-Tailed Noise: Optimal Convergence Rates and the Role "
    "of Gradient Clipping",
    source="Algorithm 1 of the paper; clipping=heavy_tail: its Theorems 1 and 2 without the upper bound on η, which "
    "needs the smoothness and the spectral gap; clipping=decay: Yang et al. 2025, arXiv 2312.15847, as code apparently "
    "by the authors of GT-NSGDm runs it (the rule of that paper combines before it adapts)",
    provenance="paper",
)
class DSGDClip(Algorithm):
    """Clip the norm of every local gradient, take a step, then average the model with the neighbors.

    X⁺ = W (X − η_t G min(1, τ_t/‖G‖)), G = G(X), the norm of each node's whole gradient
    """

    tau: Schedule

    @staticmethod
    def stepsizes(
        at: Steps,
        eta: Positive = 0.01,
        tau: Positive = 1.0,
        clipping: Annotated[Literal["given", "heavy_tail", "decay"], Neutral("given")] = "given",
        p: Annotated[float, AtLeast(1, strict=True, most=2), Neutral(2.0)] = 2.0,
    ) -> dict[str, Any]:
        """given: τ_t = τ and η√(n/h), with h = t (diminishing) or T (fixed); η alone when constant.

        heavy_tail, for noise with moments up to p: τ_t = max(τ, (nT)^(1/(3p−2))) and
        η_t = η n^((2p−1)/(3p−2)) T^(−(p−1)/(3p−2)) / τ_t. decay: τ_t = τ/(t+1)^0.4 and η_t = η/(t+1). Both ignore the
        schedule.
        """
        if clipping == "decay":
            return {"eta": eta / (at.t + 1), "tau": tau / (at.t + 1) ** 0.4}
        if clipping == "heavy_tail":
            of = 3 * p - 2
            limit = max(tau, (at.n * at.T) ** (1 / of))
            return {"eta": eta * at.n ** ((2 * p - 1) / of) * at.T ** (-(p - 1) / of) / limit, "tau": limit}
        return {"eta": eta * at.root, "tau": tau}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g = grad(s.x, t)
        norm = torch.linalg.vector_norm(g, dim=-1, keepdim=True).clamp_min(torch.finfo(g.dtype).tiny)
        (x,) = mix(s.x - self.eta[t] * g * (self.tau[t] / norm).clamp_max(1))
        return State(x)
