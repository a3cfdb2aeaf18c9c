"""DGM-BB-C: gradient tracking with Barzilai–Borwein stepsizes, for exact gradients."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.options import Count, Positive
from bench.method import Algorithm, Grad, Mix, Properties, Steps, algorithm
from bench.method.gossip import repeatedly


class State(NamedTuple):
    x: Tensor
    y: Tensor  # tracks the average gradient: ȳ = v̄
    v: Tensor  # own gradient
    bb: Tensor  # Barzilai–Borwein stepsize of each node, a scalar; infinite at first


@algorithm(
    "dgm_bb",
    label="DGM-BB-C",
    family="gt",
    vectors_per_step=2,
    rounds=2,
    start_samples=1,
    needs={"smoothness"},
    estimates="y",
    tracks={"y": "v"},
    exact=True,
    defaults={"eta": 3.0, "schedule": "fixed"},
    cite="Gao, Liu, Dai, Huang, Yang 2022, on distributed gradient methods with Barzilai–Borwein stepsizes (DGM-BB-C)",
    source="code of other authors (github.com/cziqin/Automated_Stepsizes, where it is a baseline) and the abstract",
    provenance="reconstructed",
)
class DGMBB(Algorithm):
    """Track the average gradient, with a stepsize of each node from its last two points and own gradients.

    X⁺ = W^K (X − a Y),  V⁺ = G(X⁺),  Y⁺ = W^K (Y + V⁺ − V);  Y⁰ = V⁰ = G(X⁰)
    a = min(|⟨s, z⟩|/⟨z, z⟩, η_t) of each node,  s = X − X₋,  z = V − V₋
    The first step has a = η₀/10. The other Barzilai–Borwein stepsize ⟨s, s⟩/|⟨s, z⟩| is never smaller.
    Where ⟨s, z⟩ = 0, the quotient of the step before is used.
    """

    rounds: Count = 1

    @staticmethod
    def stepsizes(at: Steps, eta: Positive = 0.01) -> dict[str, Any]:
        """Largest stepsize η√(n/h), with h = max(t, 1) (diminishing) or T (fixed), η alone when constant.

        A tenth of it at t = 0. That step is never 0, since without a step there is no Barzilai–Borwein quotient.
        """
        root = np.maximum(at.root, np.sqrt(at.n)) if at.kind == "diminishing" else at.root
        return {"eta": eta * np.where(at.t == 0, 0.1 * root, at.root)}

    @classmethod
    def declare(cls, *, rounds: int, **others: Any) -> Properties:
        return replace(cls.properties, vectors_per_step=2 * rounds, rounds=2 * rounds)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        v = grad(x, 0)
        return State(x, v, v, torch.full_like(x[..., :1], torch.inf))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        x = repeatedly(mix, s.x - torch.minimum(s.bb, self.eta[t]) * s.y, self.rounds)
        v = grad(x, t + 1)
        y = repeatedly(mix, s.y + v - s.v, self.rounds)
        z = v - s.v
        product = ((x - s.x) * z).sum(-1, keepdim=True).abs()
        return State(x, y, v, torch.where(product > 0, product / z.square().sum(-1, keepdim=True), s.bb))
