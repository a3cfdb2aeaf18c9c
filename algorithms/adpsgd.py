"""AD-PSGD: asynchronous decentralized parallel SGD."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Asynchronous, Node, algorithm


class State(NamedTuple):
    x: Tensor


@algorithm(
    "adpsgd",
    label="AD-PSGD",
    events="pairs",
    keeps_mean=True,
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity", "equal speeds"},
    fixed_point="elsewhere",
    defaults={"eta": 1.0},
    cite="Lian et al. 2018, Asynchronous Decentralized Parallel Stochastic Gradient Descent, Algorithm 1",
    source="github.com/facebookresearch/stochastic_gradient_push, commit 1230036, gossip_module/ad_psgd.py",
    provenance="reconstructed",
)
class ADPSGD(Asynchronous):
    """A node whose gradient has ended averages its model with that of one neighbor, then takes its step.

    X_i, X_j ← (X_i + X_j)/2;  X_i ← X_i − η_t G_i(where the gradient began)
    equal weights: η_t is multiplied by the compute time of the node, so that fast nodes do not count more
    """

    equal_weights: bool = False

    def begin(self, x: Tensor) -> State:
        return State(x)

    def on_pair(self, s: State, one: Node, other: Node) -> None:
        mean = (s.x[one.at] + s.x[other.at]) / 2
        s.x[one.at], s.x[other.at] = mean, mean

    def on_gradient(self, s: State, node: Node, g: Tensor) -> None:
        s.x[node.at] -= self.eta[node.t] * (node.pace if self.equal_weights else 1) * g
