"""Random networks: graphs drawn in each round. They depend on the seed and the round only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bench.base.errors import UserError
from bench.base.keyed import EVERYONE, generator
from bench.base.options import Part
from bench.base.registry import topologies, weight_rules
from bench.network.cache import compute_once
from bench.network.certificate import Certificate, Matrices
from bench.network.graphs import topology
from bench.network.mixing import Mixing, build_mixing
from bench.network.sparse import Arcs, Messages, Pattern
from bench.network.spectrum import digest, ends
from bench.network.weights import weighed

BLOCK = 16
"""Rounds that are drawn together. It is part of the random key, so changing it changes every run on such a network."""
DRAWS = 1000
"""Rounds that are drawn to estimate ρ."""


@topology("matching", drawn=True, alike=True)
def matching(nodes: int, draws: np.random.Generator) -> np.ndarray:
    """A random perfect matching; with an odd number of nodes, one node has no edge."""
    return draws.permutation(nodes)[: nodes // 2 * 2].reshape(-1, 2)


@topology("random_each_round", drawn=True, alike=True)
def random_each_round(nodes: int, draws: np.random.Generator, p: Part = 0.5) -> np.ndarray:
    """Erdős–Rényi: each edge with probability p. The graph of a round need not be connected."""
    pairs = nodes * (nodes - 1) // 2
    places: list[np.ndarray] = []
    at = -1
    while at < pairs:  # geometric gaps between edges: one draw per edge, not per pair
        steps = draws.geometric(p, size=int(1.1 * p * max(pairs - at, 0)) + 8).cumsum() + at
        places.append(steps)
        at = int(steps[-1])
    place = np.concatenate(places)
    return _pair(place[place < pairs])


def _pair(place: np.ndarray) -> np.ndarray:
    """Return the pairs (i, j), i > j, at these positions of (1,0) (2,0) (2,1) (3,0) …"""
    i = ((1 + np.sqrt(1 + 8 * place.astype(np.float64))) / 2).astype(np.int64)
    i -= i * (i - 1) // 2 > place  # the root was rounded up
    i += i * (i + 1) // 2 <= place  # or down
    return np.column_stack([i, place - i * (i - 1) // 2])


class Drawn(Mixing):
    """A network whose graph is drawn each round."""

    changing = drawn = anybody = True
    bills_alike = False

    def __init__(
        self, name: str, nodes: int, seed: int, weights: str | None, lazy: bool, options: Mapping[str, Any]
    ) -> None:
        self.name, self.nodes, self.kind = name, nodes, "gossip"
        self._law = name, nodes, weights or topologies[name].weights, lazy, tuple(sorted(options.items()))
        self._seed, self.period, self.turns = seed, None, 1
        self._block: tuple[int, list[Matrices]] = -1, []
        self._sent: tuple[int, list[np.ndarray]] = -1, []
        first = [self.at(r).any for r in range(min(8, DRAWS))]
        files = any(isinstance(value, Path) for value in options.values())  # one path may have several contents
        content = repr((self._law, digest(first) if files else None))
        law = compute_once("law", nodes, content, lambda: asdict(_certify(*self._law)))
        self.certificate = Certificate(**{**law, "hash": digest(first)})

    def at(self, r: int, t: int = 0) -> Matrices:
        number, place = divmod(r, BLOCK)
        block = self._block  # read once: another thread may replace it
        if block[0] != number:
            draws = generator(self._seed, EVERYONE, f"network {self.name}", number)
            self._block = block = number, [_draw(*self._law, draws) for _ in range(BLOCK)]
        return block[1][place]

    def messages(self, r: int, t: int = 0) -> Messages:
        """Return the messages of round r, without its weights: all weights of edges are positive."""
        name, nodes, _, _, options = self._law
        number, place = divmod(r, BLOCK)
        if self._sent[0] != number:
            draws = generator(self._seed, EVERYONE, f"network {name}", number)
            self._sent = number, [_edges(name, nodes, options, draws) for _ in range(BLOCK)]
        edges, own = self._sent[1][place], np.arange(nodes)
        codes = np.concatenate([edges @ (nodes, 1), edges @ (1, nodes), own * (nodes + 1)])
        target, source = np.divmod(np.sort(codes), nodes)
        return Messages(source, target)

    @property
    def matrices(self) -> np.ndarray:
        """The dense matrix of the first round, (1, n, n)."""
        return self.at(0).any.dense()[None]

    @property
    def heard(self) -> Pattern:
        """All pairs of nodes."""
        return Pattern(self.nodes, *np.divmod(np.arange(self.nodes**2), self.nodes))

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges of the first round."""
        pattern = self.at(0).any.pattern
        return [(int(j), int(i)) for i, j in zip(pattern.rows, pattern.columns, strict=True) if j < i]

    def bill(self, r: int, t: int = 0) -> tuple[int, int]:
        return (len(self.at(r).any.values) - self.nodes,) * 2  # all but the diagonal


def build_network(name: str, nodes: int, options: Mapping[str, Any], run_seed: int = 0) -> Mixing:
    """Return the network of a registered topology. Only random networks depend on the seed of the run."""
    if not topologies[name].drawn:
        return build_mixing(name, nodes, **options)
    rest = {key: value for key, value in options.items() if key not in ("weights", "lazy")}
    return Drawn(name, nodes, run_seed, options.get("weights"), options.get("lazy", False), rest)


def _draw(
    name: str, nodes: int, rule: str, lazy: bool, options: tuple[tuple[str, Any], ...], draws: np.random.Generator
) -> Matrices:
    """Return the matrices of one round."""
    edges = _edges(name, nodes, options, draws)
    matrices = weighed(Arcs(nodes, edges[:, 0], edges[:, 1]), rule)
    return matrices.lazy() if lazy else matrices


def _edges(name: str, nodes: int, options: tuple[tuple[str, Any], ...], draws: np.random.Generator) -> np.ndarray:
    """Return the edges of one round, (m, 2)."""
    edges = np.asarray(topologies[name].graph(nodes, draws, **dict(options)))
    if edges.ndim != 2 or edges.shape[1] != 2 or (len(edges) and not 0 <= edges.min() <= edges.max() < nodes):
        raise UserError(
            f"topology={name} must return edges between the nodes 0 … {nodes - 1}, shape (m, 2); it returned "
            f"{edges.tolist()[:3]} …, shape {edges.shape}."
        )
    return edges


def _certify(name: str, nodes: int, rule: str, lazy: bool, options: tuple[tuple[str, Any], ...]) -> Certificate:
    """Return the certificate of the distribution of W, with ρ² = ‖E[WᵀW] − 11ᵀ/n‖.

    If the topology is ``alike``, then E[WᵀW] = aI + b11ᵀ, and ρ² = (E‖W‖²_F − 1)/(n − 1) because rows sum to one. This
    is exact if all draws have the same norm. Otherwise E[WᵀW] is a mean over draws, which slightly overestimates ρ.
    """
    if weight_rules[rule].keeps != "both":
        raise UserError(f"topology.weights={rule} requires a directed graph; topology={name} is undirected.")
    alike = topologies[name].alike
    total = np.zeros((nodes, nodes)) if not alike else np.zeros(0)
    norms, messages, first = [], 0, None
    for number in range(DRAWS):
        w = _draw(name, nodes, rule, lazy, options, generator(0, EVERYONE, f"law of {name}", number)).any
        first = first or w
        norms.append(float(w.values @ w.values))
        messages += w.heard()
        if not alike:
            total += (w.scipy().T @ w.scipy()).toarray()
    exact = alike and np.ptp(norms) < 1e-12 * max(norms)
    if alike:
        square = (np.mean(norms) - 1) / (nodes - 1) if nodes > 1 else 0.0
    else:
        square = float(np.linalg.norm(total / DRAWS - 1 / nodes, 2))
    rho = float(max(0.0, square) ** 0.5)
    if rho >= 1 - 1e-12 and nodes > 1:
        raise UserError(
            f"The network '{name}' never reaches consensus: ρ = {rho:.6f}. Over all rounds, its edges must connect "
            "all nodes."
        )
    assert first is not None
    return Certificate(
        nodes=nodes,
        period=None,
        edges=round(messages / DRAWS / 2),
        diameter=None,
        lambda_2=None,
        lambda_n=ends(first)[1] if exact and nodes > 1 else 0.0 if lazy else None,
        rho=rho,
        gap=1 - rho,
        hash="",
        rho_is=f"√‖E[WᵀW] − 11ᵀ/n‖₂{', exactly' if exact else f', by {DRAWS} draws'}",
        static=False,
    )
