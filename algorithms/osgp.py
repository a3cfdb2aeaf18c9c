"""OSGP: stochastic gradient push that overlaps communication with computation."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Asynchronous, Node, algorithm


class State(NamedTuple):
    x: Tensor  # u / w, the point of the gradient
    u: Tensor  # mass; its sum over nodes and messages changes by gradients only
    w: Tensor  # weight that normalizes the mass, (R, n, 1)
    r: Tensor  # mass that has arrived
    q: Tensor  # weight that has arrived, (R, n, 1)


@algorithm(
    "osgp",
    label="OSGP",
    events="one_late",
    keeps_mean=True,
    vectors_per_step=1,
    scalars_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    mixes="push",
    defaults={"eta": 0.01},
    cite="Assran et al. 2019, Stochastic Gradient Push for Distributed Deep Learning, Algorithm 2",
    source="github.com/facebookresearch/stochastic_gradient_push, commit 1230036, gossip_module/distributed.py",
    provenance="code",
)
class OSGP(Asynchronous):
    """Push model and weight as SGP, with messages that arrive one step late while the nodes compute.

    U ← U + R, w ← w + q;  R, q ← A_off U, A_off w, sent;  U, w ← A_diag U, A_diag w;  U ← U − η_t G(U / w)
    A: equal shares for a node and its receivers
    The default stepsize is slow on digits: larger ones score lower on the quadratics that it was chosen on.
    """

    def begin(self, x: Tensor) -> State:
        w = x.new_ones(*x.shape[:2], 1)
        shares = [1 / (len(receivers) + 1) for receivers in self.graph.receivers]
        share = x.new_tensor(shares)[:, None]
        r, q = (self.graph.per_sender(share * part).sum(-2) for part in (x, w))
        return State(x, share * x, share * w, r, q)

    def on_message(self, s: State, node: Node, sender: int, *received: Tensor) -> None:
        u, w = received
        s.r[node.at] += u
        s.q[node.at] += w

    def on_gradient(self, s: State, node: Node, g: Tensor) -> None:
        share = 1 / (len(node.receivers) + 1)
        u = share * (s.u[node.at] - self.eta[node.t] * g + s.r[node.at])
        w = share * (s.w[node.at] + s.q[node.at])
        node.send(u, w)
        s.u[node.at], s.w[node.at], s.r[node.at], s.q[node.at] = u, w, 0, 0
        s.x[node.at] = u / w
