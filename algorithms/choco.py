"""CHOCO-SGD: gossip of compressed differences."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    h: Tensor  # copy of x that the neighbors hold
    wh: Tensor  # W h, from received messages


@algorithm(
    "choco",
    label="CHOCO-SGD",
    vectors_per_step=1,
    needs={"smoothness", "variance", "topology"},
    assumes={"bounded heterogeneity"},
    static=True,
    compresses="contractive",
    defaults={"eta": 3.0, "schedule": "fixed"},
    cite="Koloskova, Stich, Jaggi 2019, Decentralized Stochastic Optimization and Gossip Algorithms with Compressed "
    "Communication, Algorithm 2",
    source="github.com/epfml/ChocoSGD, commit ec0ae8a, convex_code/logistic.py, for order overlapped; "
    "github.com/mlolab/MoTEF, commit 27dc47a, synthetic/solvers.py, for compress_first. Both start with H⁰ = X⁰",
    provenance="code",
)
class CHOCO(Algorithm):
    """Send the compressed difference between the model and the copy that neighbors hold, so that no error accumulates.

    X½ = X − η_t G(X),  Q = C(X½ − H),  H⁺ = H + Q,  X⁺ = X½ + γ (W − I) H⁺;  H⁰ = 0
    order overlapped (Koloskova et al. 2020): X⁺ = X − η_t G(X) + γ (W − I) H,  H⁺ = H + C(X⁺ − H)
    """

    gamma: float = 0.3
    order: Literal["compress_first", "overlapped"] = "compress_first"

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, h=torch.zeros_like(x), wh=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        x = s.x - self.eta[t] * grad(s.x, t)
        if self.order == "overlapped":
            x = x + self.gamma * (s.wh - s.h)
        ((q, wq),) = mix.compressed(x - s.h)
        h, wh = s.h + q, s.wh + wq
        return State(x + self.gamma * (wh - h) if self.order == "compress_first" else x, h, wh)
