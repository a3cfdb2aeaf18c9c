"""DoCoM: recursive gradients, tracked, with compressed communication."""

from typing import NamedTuple

import torch
from torch import Tensor

from bench.base.options import Positive
from bench.method import Grad, Mix, algorithm
from bench.method.estimates import Recursive, start_gradient


class State(NamedTuple):
    x: Tensor
    h: Tensor  # copy of x that the neighbors hold
    wh: Tensor  # W h, from received messages
    y: Tensor  # tracks the average estimate: ȳ = v̄
    q: Tensor  # copy of y that the neighbors hold
    wq: Tensor  # W q
    v: Tensor  # recursive estimate of the own gradient


@algorithm(
    "docom",
    label="DoCoM",
    family="beer",
    vectors_per_step=2,
    gradients=2,
    start_samples=1,
    start_rounds=1,
    needs={"smoothness", "topology"},
    assumes={"mean-squared smoothness"},
    estimates="y",
    tracks={"y": "v"},
    static=True,
    compresses="contractive",
    defaults={"eta": 0.1, "schedule": "fixed"},
    cite="Yau, Wai 2023, DoCoM: Compressed Decentralized Optimization with Near-Optimal Sample Complexity",
    source="github.com/OscarYau525/docom, commit a7d5241, pcode/optim/parallel_docom_v.py, which gossips before it "
    "compresses; the paper has the opposite order (from memory)",
    provenance="code",
)
class DoCoM(Recursive):
    """Track a recursive variance-reduced gradient, and send only compressed changes of the model and the tracker.

    X⁺ = X + γ (W−I) H − η_t Y,  H⁺ = H + C(X⁺ − H),  V⁺ = G(X⁺; s) + (1−β) (V − G(X; s)), one sample s
    Y⁺ = Y + γ (W−I) Q + V⁺ − V,  Q⁺ = Q + C(Y⁺ − Q);  H⁰ = X⁰, sent once uncompressed,  Q⁰ = 0
    Y⁰ = V⁰ = mean of ``start_batches`` gradients
    """

    gamma: Positive = 0.3
    beta: float = 0.1

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        v, zero = start_gradient(grad, x, self.start_batches), torch.zeros_like(x)
        (wx,) = mix(x)
        return State(x, h=x, wh=wx, y=v, q=zero, wq=zero, v=v)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        x = s.x + self.gamma * (s.wh - s.h) - self.eta[t] * s.y
        v = grad(x, t + 1) + (1 - self.beta) * (s.v - grad(s.x, t + 1))
        y = s.y + self.gamma * (s.wq - s.q) + v - s.v
        (c, wc), (d, wd) = mix.compressed(x - s.h, y - s.q)
        return State(x, s.h + c, s.wh + wc, y, s.q + d, s.wq + wd, v)
