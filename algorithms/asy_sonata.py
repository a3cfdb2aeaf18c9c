"""ASY-SONATA: asynchronous gradient tracking."""

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from bench.method import Asynchronous, Node, algorithm


class State(NamedTuple):
    x: Tensor
    v: Tensor  # x − η z, sent when the gradient at the next x has ended
    z: Tensor  # tracks the average gradient
    g: Tensor  # last gradient
    sent: Tensor  # all shares of z that the node has sent to each receiver
    heard_v: Tensor  # last v of each sender, (R, n, d, P)
    heard: Tensor  # last total of each sender
    used: Tensor  # the part of it that the node has taken in


@algorithm(
    "asy_sonata",
    label="ASY-SONATA",
    events="messages",
    vectors_per_step=2,
    needs={"smoothness", "topology"},
    fixed_point="exact",
    defaults={"eta": 0.1},
    cite="Tian, Sun and Scutari 2020, Achieving Linear Convergence in Distributed Asynchronous Multiagent Optimization",
    source="a port by Assran; Algorithm 1 of the paper from memory",
    provenance="reconstructed",
)
class AsySONATA(Asynchronous):
    """Track the average gradient by running sums of shares, which neither delays nor losses disturb.

    Z½ = Z + Σ_j (last ρ of j − ρ̃_j) + G(X) − G;  Z = Z½/(d + 1), ρ ← ρ + Z½/(d + 1);  send V, ρ
    V = X − η_t Z;  X ← w_ii V + Σ_j w_ij (last V of j);  Z⁰ = G(X⁰)
    The default stepsize is slow on digits: larger ones score lower on the quadratics that it was chosen on.
    """

    @staticmethod
    def sends_after(number: np.ndarray, **options: Any) -> np.ndarray:
        return number > 0

    def begin(self, x: Tensor) -> State:
        zero = x.new_zeros(x.shape)
        heard = self.graph.per_sender(zero)
        return State(x, x.clone(), zero, zero.clone(), zero.clone(), self.graph.per_sender(x), heard, heard.clone())

    def on_message(self, s: State, node: Node, sender: int, *received: Tensor) -> None:
        s.heard_v[node.heard(sender)], s.heard[node.heard(sender)] = received

    def on_gradient(self, s: State, node: Node, g: Tensor) -> None:
        at = node.at
        if node.number == 0:
            s.z[at] = g
        else:
            z = s.z[at] + (s.heard[at] - s.used[at]).sum(-2) + g - s.g[at]
            s.used[at] = s.heard[at]
            s.z[at] = z / (len(node.receivers) + 1)
            s.sent[at] += s.z[at]
            node.send(s.v[at], s.sent[at])
        s.g[at] = g
        s.v[at] = s.x[at] - self.eta[node.t] * s.z[at]
        s.x[at] = node.average(s.v[at], s.heard_v[at])
