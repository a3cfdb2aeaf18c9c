"""D-SGD: decentralized stochastic gradient descent."""

from typing import NamedTuple

from torch import Tensor

from bench.algorithm import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor


@algorithm(
    "dsgd",
    sends=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    cite="Lian et al. 2017, Can Decentralized Algorithms Outperform Centralized Algorithms?",
)
class DSGD(Algorithm):
    """X⁺ = W (X − η_t G(X))"""

    def start(self, x: Tensor, grad: Grad) -> State:
        return State(x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (x,) = mix(s.x - self.eta[t] * grad(s.x, t))
        return State(x)
