"""SWIFT: wait-free decentralized SGD."""

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from bench.base.options import Count
from bench.method import Asynchronous, Node, algorithm


class State(NamedTuple):
    x: Tensor
    heard: Tensor  # last model of each sender, (R, n, d, P)


@algorithm(
    "swift",
    label="SWIFT",
    events="messages",
    vectors_per_step=1,
    needs={"smoothness", "variance"},
    assumes={"bounded heterogeneity"},
    defaults={"eta": 0.01},
    cite="Bornstein et al. 2023, SWIFT: Rapid Decentralized Federated Learning via Wait-Free Model Communication",
    source="github.com/marcobornstein/SWIFT, commit a759254, Communicators/AsyncCommunicator.py; with every > 1, the "
    "release also sends after local steps",
    provenance="code",
)
class SWIFT(Asynchronous):
    """A node whose gradient has ended sends its model and averages with the last models that it has heard.

    send X_i;  X_i ← w_ii X_i + Σ_j w_ij (last from j) − η_t G_i(X_i)
    every = 2: a step without communication, then one with it
    The default stepsize is slow on digits: larger ones score lower on the quadratics that it was chosen on.
    """

    every: Count = 1

    @staticmethod
    def sends_after(number: np.ndarray, *, every: int, **others: Any) -> np.ndarray:
        return (number + 1) % every == 0

    def begin(self, x: Tensor) -> State:
        return State(x, heard=self.graph.per_sender(x))

    def on_message(self, s: State, node: Node, sender: int, *received: Tensor) -> None:
        (s.heard[node.heard(sender)],) = received

    def on_gradient(self, s: State, node: Node, g: Tensor) -> None:
        x = s.x[node.at]
        if (node.number + 1) % self.every == 0:
            node.send(x)
            x = node.average(x, s.heard[node.at])
        s.x[node.at] = x - self.eta[node.t] * g
