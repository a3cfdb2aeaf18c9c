"""D-SGDm: decentralized stochastic gradient descent with momentum on every node."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Decay
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    m: Tensor  # exponentially weighted sum of own gradients


@algorithm(
    "dsgdm",
    label="D-SGDm",
    family="dsgd",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    centralized_equivalent=True,
    defaults={"eta": 0.3},
    cite="Yu, Jin, Yang 2019, On the Linear Speedup Analysis of Communication Efficient Momentum SGD; Lin et al. 2021, "
    "Quasi-Global Momentum: Accelerating Decentralized Deep Learning on Heterogeneous Data (its baseline DSGDm)",
    source="github.com/epfml/quasi-global-momentum, commit 0683d7a, code/pcode/optim/decentralized_sgd.py, without "
    "Nesterov",
    provenance="code",
)
class DSGDm(Algorithm):
    """Take a local step with momentum, then average the model with the neighbors.

    M⁺ = β M + G(X),  X⁺ = W (X − η_t M⁺);  M⁰ = 0
    """

    beta: Decay = 0.9

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, m=torch.zeros_like(x))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        m = self.beta * s.m + grad(s.x, t)
        (x,) = mix(s.x - self.eta[t] * m)
        return State(x, m)
