"""SGP: stochastic gradient push."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor  # u / w, the point of the gradient
    u: Tensor  # mass; its sum over the nodes changes by gradients only
    w: Tensor  # weight that normalizes the mass, (R, k, 1)


@algorithm(
    "sgp",
    label="SGP",
    vectors_per_step=1,
    scalars_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    mixes="push",
    centralized_equivalent="sgd",
    defaults={"eta": 1.0},
    cite="Assran et al. 2019, Stochastic Gradient Push for Distributed Deep Learning, Algorithm 1",
    source="github.com/facebookresearch/stochastic_gradient_push, commit 1230036, gossip_module/distributed.py",
    provenance="code",
)
class SGP(Algorithm):
    """Push model and weight by a column-stochastic matrix, and divide by the weight to remove the bias of pushing.

    U⁺ = A (U − η_t G(X)),  w⁺ = A w,  X⁺ = U⁺ / w⁺;  U⁰ = X⁰, w⁰ = 1;  A column-stochastic
    """

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x, u=x, w=x.new_ones(*x.shape[:2], 1))

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        u, w = mix.push(s.u - self.eta[t] * grad(s.x, t), s.w)
        return State(u / w, u, w)
