"""RASGP: robust asynchronous stochastic gradient push."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Asynchronous, Node, algorithm


class State(NamedTuple):
    x: Tensor  # u / w, the point of the gradient
    u: Tensor  # mass
    w: Tensor  # weight, (R, n, 1)
    sent_u: Tensor  # all mass that the node has sent to each receiver
    sent_w: Tensor
    heard_u: Tensor  # the last total of each sender, (R, n, d, P)
    heard_w: Tensor
    used_u: Tensor  # the part of it that the node has taken in
    used_w: Tensor


@algorithm(
    "rasgp",
    label="RASGP",
    events="messages",
    keeps_mean=True,
    vectors_per_step=1,
    scalars_per_step=1,
    needs={"smoothness", "variance"},
    mixes="push",
    fixed_point="near",
    defaults={"eta": 1.0},
    cite="Spiridonoff, Olshevsky and Paschalidis 2020, Robust Asynchronous Stochastic Gradient-Push, Algorithm 3",
    source="github.com/artinspiri/RASGP; the form with events: the stepsizes since the last event, summed",
    provenance="reconstructed",
)
class RASGP(Asynchronous):
    """Push running sums, so that a lost message is recovered by the next, with steps as long as the time they took.

    U ← U − η_t (time since the last event) G(U / w);  U, w ← (U, w)/(d + 1);  σ ← σ + (U, w), sent
    U, w ← (U, w) + Σ_j (last σ of j − what was taken in of it)
    """

    def begin(self, x: Tensor) -> State:
        w = x.new_ones(*x.shape[:2], 1)
        u_zero, w_zero = x.new_zeros(x.shape), w.new_zeros(w.shape)
        heard = [self.graph.per_sender(part) for part in (u_zero, w_zero, u_zero, w_zero)]
        return State(x, x.clone(), w, u_zero, w_zero, *heard)

    def on_message(self, s: State, node: Node, sender: int, *received: Tensor) -> None:
        s.heard_u[node.heard(sender)], s.heard_w[node.heard(sender)] = received

    def on_gradient(self, s: State, node: Node, g: Tensor) -> None:
        at, share = node.at, 1 / (len(node.receivers) + 1)
        u = share * (s.u[at] - self.eta[node.t] * node.since * g)
        w = share * s.w[at]
        s.sent_u[at] += u
        s.sent_w[at] += w
        node.send(s.sent_u[at], s.sent_w[at])
        s.u[at] = u + (s.heard_u[at] - s.used_u[at]).sum(-2)
        s.w[at] = w + (s.heard_w[at] - s.used_w[at]).sum(-2)
        s.used_u[at], s.used_w[at] = s.heard_u[at], s.heard_w[at]
        s.x[at] = s.u[at] / s.w[at]
