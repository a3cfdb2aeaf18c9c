"""D-SGD with two rounds of gossip per step: the example of a submission to the board."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor


@algorithm(
    "dsgd_twice",
    label="D-SGD, two rounds",
    family="dsgd",
    vectors_per_step=2,
    rounds=2,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    fixed_point="near",
    centralized_equivalent=True,
    cite="unpublished",
    published=False,
)
class DSGDTwice(Algorithm):
    """Step along the own gradient, then average with the neighbors twice.

    X⁺ = W² (X − η_t G(X))
    """

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (once,) = mix(s.x - self.eta[t] * grad(s.x, t))
        (x,) = mix(once)
        return State(x)
