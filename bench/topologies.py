"""Graphs by name: a function from the number of nodes to who talks to whom.

A function returns a graph on the nodes 0 … n−1, or a list of graphs that take turns. Weights live
elsewhere (weights.py); the decorator only names the rule used when the user names none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import networkx as nx

from bench.randomness import EVERYONE, generator
from bench.registry import UserError, topologies

Graphs: TypeAlias = nx.Graph | list[nx.Graph]


@dataclass(frozen=True)
class Topology:
    graph: Callable[..., Graphs]
    weights: str


def topology(name: str, weights: str = "metropolis") -> Callable[[Callable[..., Graphs]], Callable[..., Graphs]]:
    """Register a graph under ``name`` with its usual weight rule."""

    def decorate(function: Callable[..., Graphs]) -> Callable[..., Graphs]:
        topologies.add(name, Topology(function, weights))
        return function

    return decorate


@topology("ring", weights="max_degree")
def ring(nodes: int) -> nx.Graph:
    return nx.cycle_graph(nodes)


@topology("complete", weights="uniform")
def complete(nodes: int) -> nx.Graph:
    return nx.complete_graph(nodes)


@topology("ladder", weights="laplacian")
def ladder(nodes: int) -> nx.Graph:
    if nodes % 2:
        raise UserError(f"A ladder has two equal rails, so nodes must be even; got {nodes}.")
    return nx.ladder_graph(nodes // 2)


PUBLISHED_RANDOM = ((1, 6), (2, 3), (2, 4), (5, 7))
"""The edges missing from K8 in the random graph drawn in the paper (n = 8, p = 0.8)."""


@topology("random", weights="uniform")
def random(nodes: int, p: float = 0.8, seed: int | None = None) -> nx.Graph:
    """Erdős–Rényi, drawn until connected. With n = 8, p = 0.8 and no seed: the paper's instance."""
    if not 0 < p <= 1:
        raise UserError(f"topology.p is the probability of an edge, in (0, 1]; got {p}.")
    if (nodes, p, seed) == (8, 0.8, None):
        graph = nx.complete_graph(8)
        graph.remove_edges_from(PUBLISHED_RANDOM)
        return graph
    for attempt in range(1000):
        draws = generator(seed or 0, EVERYONE, "graph", attempt).random((nodes, nodes))
        graph = nx.empty_graph(nodes)
        graph.add_edges_from((i, j) for i in range(nodes) for j in range(i) if draws[i, j] < p)
        if nx.is_connected(graph):
            return graph
    raise UserError(f"No connected graph in 1000 draws with nodes={nodes} and topology.p={p}; raise topology.p.")
