"""DSGD-N: decentralized stochastic gradient descent with normalized gradients."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Algorithm, Grad, Mix, algorithm, unit


class State(NamedTuple):
    x: Tensor


@algorithm(
    "dsgd_n",
    label="DSGD-N",
    family="dsgd",
    vectors_per_step=1,
    needs={"smoothness"},
    assumes={"bounded heterogeneity"},
    fixed_point="elsewhere",
    bounded_step=True,
    scale_free=True,
    defaults={"eta": 1.0},
    cite="Armacki, Cai, Sayed 2026, Decentralized SGD under Heavy-Tailed Noise: Optimal Convergence Rates and the Role "
    "of Gradient Clipping (its baseline DSGD-N)",
    source="notes on the paper; also Yu, Jakovetić, Kar 2026, arXiv:2505.03736, Proposition 1",
    provenance="reconstructed",
)
class DSGDN(Algorithm):
    """Normalize every local gradient, take a step, then average the model with the neighbors.

    X⁺ = W (X − η_t unit(G(X)))
    Opposite gradients of two groups of nodes cancel, however different their lengths are: X may never move. Methods
    that normalize a tracker of the average gradient, such as D-NASA and GT-NSGDm, do not have this bias.
    """

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (x,) = mix(s.x - self.eta[t] * unit(grad(s.x, t)))
        return State(x)
