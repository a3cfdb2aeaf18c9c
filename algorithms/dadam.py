"""Gossip Adam: Adam on every node, then gossip. DADAM of Nazari et al. is dadam_written."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Decay, Positive
from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor
    m: Tensor  # moving average of own gradients
    v: Tensor  # and of their squares


@algorithm(
    "dadam",
    label="Gossip Adam",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    fixed_point="elsewhere",
    defaults={"eta": 0.1},
    cite="Lin et al. 2021, Quasi-Global Momentum: Accelerating Decentralized Deep Learning on Heterogeneous Data (its "
    "baseline Adam)",
    source="github.com/epfml/quasi-global-momentum, commit 0683d7a, code/pcode/optim/decentralized_adam.py, without "
    "weight decay",
    provenance="code",
)
class DAdam(Algorithm):
    """Run Adam on every node with local gradients, then average the model with the neighbors.

    M⁺ = β₁ M + (1−β₁) G,  V⁺ = β₂ V + (1−β₂) G²,  M̂ = M⁺/(1−β₁^(t+1)),  V̂ = V⁺/(1−β₂^(t+1)),  G = G(X)
    X⁺ = W (X − η_t M̂/(√V̂ + ε));  M⁰ = V⁰ = 0. It does not converge on heterogeneous data, for any stepsizes.
    """

    beta1: Decay = 0.9
    beta2: Decay = 0.999
    epsilon: Positive = 1e-8

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        zero = torch.zeros_like(x)
        return State(x, m=zero, v=zero)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        g = grad(s.x, t)
        m, v = torch.lerp(g, s.m, self.beta1), torch.lerp(g.square(), s.v, self.beta2)
        m_hat, v_hat = m / (1 - self.beta1 ** (t + 1)), v / (1 - self.beta2 ** (t + 1))
        (x,) = mix(s.x - self.eta[t] * m_hat / (v_hat.sqrt() + self.epsilon))
        return State(x, m, v)
