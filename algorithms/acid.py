"""A²CiD²: asynchronous gossip with a continuous momentum."""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from torch import Tensor

from bench.base.options import Count
from bench.method import Asynchronous, Node, Properties, algorithm


class State(NamedTuple):
    x: Tensor
    y: Tensor  # x̃, the momentum of the gossip


@algorithm(
    "acid",
    label="A²CiD²",
    events="meetings",
    keeps_mean=True,
    vectors_per_step=1,
    needs={"smoothness", "variance", "topology"},
    assumes={"bounded heterogeneity", "equal speeds"},
    fixed_point="elsewhere",
    defaults={"eta": 0.01},
    cite="Nabli, Belilovsky and Oyallon 2023, A²CiD²: Accelerating Asynchronous Communication in Decentralized Deep "
    "Learning, Algorithm 1",
    source="github.com/AdelNabli/ACiD, commit 257dea2, p2p_averaging.py; the release exchanges x before it relaxes, "
    "which does not preserve the sum",
    provenance="code",
)
class ACiD(Asynchronous):
    """Neighbors meet at random times while the nodes compute. A second model x̃ accelerates the gossip.

    before an event: (X, X̃) ← ((1 + e) X + (1 − e) X̃, (1 − e) X + (1 + e) X̃)/2, e = exp(−2 η Δt)
    gradient: X, X̃ ← X − a G, X̃ − a G;  pair: M = X_i − X_j, X_i, X_j ← X_i − M/2, X_j + M/2, X̃ likewise with α̃ M
    The default stepsize is slow on digits: larger ones score lower on the quadratics that it was chosen on.
    """

    rate: Count = 1
    accelerate: bool = True

    @classmethod
    def declare(cls, *, accelerate: bool, **others: object) -> Properties:
        return cls.properties if accelerate else replace(cls.properties, diagnostic_states=("y",))

    def begin(self, x: Tensor) -> State:
        return State(x, x.clone())

    @cached_property
    def _constants(self) -> tuple[float, float]:
        """η = ½/√(χ₁χ₂) and α̃ = ½√(χ₁/χ₂), from the Laplacian with the rates of the edges."""
        if not self.accelerate:
            return 0.0, 0.5
        source, target, n = self.graph.source, self.graph.target, self.graph.nodes
        degree = np.bincount(source, minlength=n)
        laplacian = np.zeros((n, n))
        laplacian[source, target] = -self.rate * (1 / degree[source] + 1 / degree[target]) / 2
        laplacian -= np.diag(laplacian.sum(axis=1))
        inverse = np.linalg.pinv(laplacian)
        chi_1 = 1 / np.linalg.eigvalsh(laplacian)[1]
        own = np.diag(inverse)
        chi_2 = max(own[source] + own[target] - 2 * inverse[source, target]) / 2
        return 0.5 / np.sqrt(chi_1 * chi_2), 0.5 * np.sqrt(chi_1 / chi_2)

    def _relaxed(self, s: State, node: Node) -> tuple[Tensor, Tensor]:
        x, y, e = s.x[node.at], s.y[node.at], float(np.exp(-2 * self._constants[0] * node.since))
        return ((1 + e) * x + (1 - e) * y) / 2, ((1 - e) * x + (1 + e) * y) / 2

    def on_pair(self, s: State, one: Node, other: Node) -> None:
        (x, y), (a, b) = self._relaxed(s, one), self._relaxed(s, other)
        m, weight = x - a, self._constants[1]
        s.x[one.at], s.y[one.at] = x - m / 2, y - weight * m
        s.x[other.at], s.y[other.at] = a + m / 2, b + weight * m

    def on_gradient(self, s: State, node: Node, g: Tensor) -> None:
        x, y = self._relaxed(s, node)
        s.x[node.at], s.y[node.at] = x - self.eta[node.t] * g, y - self.eta[node.t] * g
