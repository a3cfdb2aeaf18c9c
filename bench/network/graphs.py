"""Registered graphs: functions from the number of nodes to a graph.

A function returns a graph on the nodes 0 … n−1, or a list of graphs that take turns. The decorator names the default
weight rule (weights.py). A function with its own weights returns the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import networkx as nx
import numpy as np

from bench.base.errors import UserError
from bench.base.keyed import EVERYONE, generator
from bench.base.machine import check_memory
from bench.base.options import Part
from bench.base.registry import topologies

EDGE_BYTES = 170
"""Bytes that networkx needs per edge, measured."""
Graphs: TypeAlias = nx.Graph | list[nx.Graph] | np.ndarray
NetworkKind = Literal["gossip", "all_reduce", "alone"]
"""How communication is charged. ``all_reduce`` and ``alone`` are references: exact averages and no communication."""


@dataclass(frozen=True)
class Topology:
    """A registered graph, with the arguments of ``topology``."""

    graph: Callable[..., Any]
    weights: str | None
    kind: NetworkKind = "gossip"
    drawn: bool = False
    alike: bool = False


def topology(
    name: str,
    weights: str | None = "metropolis",
    kind: NetworkKind = "gossip",
    drawn: bool = False,
    alike: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a graph. A decorator for a function from the number of nodes n to a graph on 0 … n−1.

    The function returns an ``nx.Graph``, an ``nx.DiGraph`` (i sends along its edge i → j), a list of graphs that take
    turns, or a matrix of weights (n, n). Parameters with a default are options, ``topology.NAME``.

    Args:
        name: The name on the command line, ``topology=NAME``.
        weights: The default weight rule; None if the function returns a matrix.
        kind: ``"gossip"``, or one of two references: ``"all_reduce"`` (exact average), ``"alone"`` (no communication).
        drawn: The function takes n and a random generator, and returns the edges of one round, (m, 2).
        alike: For ``drawn``: the distribution does not depend on the numbering of the nodes, which simplifies ρ.

    Example:
        >>> @topology("wheel")
        ... def wheel(nodes: int) -> nx.Graph:
        ...     return nx.wheel_graph(nodes)
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        topologies.add(name, Topology(function, weights, kind, drawn, alike))
        return function

    return decorate


def graphs_of(name: str, nodes: int, options: Mapping[str, Any]) -> list[nx.Graph | np.ndarray]:
    """Return the graphs or matrices of a topology, one for each round of its period, for so many nodes.

    Raises:
        UserError: The function fails, or returns an object of another type or size.
    """
    try:
        made = topologies[name].graph(nodes, **options)
    except UserError:
        raise
    except Exception as error:  # a plug-in may raise anything
        raise UserError(f"topology={name} failed for nodes={nodes}: {type(error).__name__}: {error}.") from error
    out = made if isinstance(made, list) else [made]
    for item in out:
        if not isinstance(item, nx.Graph | np.ndarray):
            raise UserError(f"topology={name} must return a graph, a matrix or a list of them; it returned {item!r}.")
        if len(item) != nodes and (isinstance(item, nx.Graph) or item.shape == (len(item), len(item))):
            kind = "matrix" if isinstance(item, np.ndarray) else "graph"
            raise UserError(
                f"topology={name} returned a {kind} for {len(item)} nodes, but nodes={nodes}. Set nodes={len(item)}, "
                "or change the function so that it uses its argument."
            )
    if not out:
        raise UserError(f"topology={name} returned an empty list; a sequence needs at least one graph.")
    return out


@topology("ring", weights="max_degree")
def ring(nodes: int) -> nx.Graph:
    """A cycle."""
    return nx.cycle_graph(nodes)


@topology("complete", weights="uniform")
def complete(nodes: int) -> nx.Graph:
    """Every node has an edge to every other node."""
    check_memory(EDGE_BYTES * nodes**2 / 2, f"A complete graph of {nodes} nodes", "use fewer nodes or a sparser graph")
    return nx.complete_graph(nodes)


@topology("all_reduce", weights="uniform", kind="all_reduce")
def all_reduce(nodes: int) -> nx.Graph:
    """A reference: the exact average, W = 11ᵀ/n, charged as a ring all-reduce, 2(n−1)/n vectors per node."""
    return complete(nodes)


@topology("alone", kind="alone")
def alone(nodes: int) -> nx.Graph:
    """A reference: no communication, W = I. Every node uses its own data only."""
    return nx.empty_graph(nodes)


@topology("ladder", weights="laplacian")
def ladder(nodes: int) -> nx.Graph:
    """Two paths of n/2 nodes, joined by rungs."""
    if nodes % 2:
        raise UserError(f"With ladder, nodes must be even; got {nodes}.")
    return nx.ladder_graph(nodes // 2)


PUBLISHED_RANDOM = ((1, 6), (2, 3), (2, 4), (5, 7))
"""The edges missing from K8 in the random graph drawn in the paper (n = 8, p = 0.8)."""


@topology("random", weights="uniform")
def random(nodes: int, p: Part = 0.8, seed: int | None = None) -> nx.Graph:
    """Erdős–Rényi, drawn until connected. With n = 8, p = 0.8 and no seed: the paper's instance."""
    if (nodes, p, seed) == (8, 0.8, None):
        graph = nx.complete_graph(8)
        graph.remove_edges_from(PUBLISHED_RANDOM)
        return graph
    for attempt in range(1000):
        draws = generator(seed or 0, EVERYONE, "graph", attempt).random((nodes, nodes))
        graph = nx.empty_graph(nodes)
        graph.add_edges_from(np.argwhere(np.tril(draws < p, -1)).tolist())
        if nx.is_connected(graph):
            return graph
    raise UserError(f"No connected graph in 1000 draws with nodes={nodes} and topology.p={p}. Increase topology.p.")


@topology("path")
def path(nodes: int) -> nx.Graph:
    """A cycle without one edge."""
    return nx.path_graph(nodes)


@topology("star")
def star(nodes: int) -> nx.Graph:
    """Node 0 has an edge to every other node."""
    return nx.star_graph(nodes - 1)


@topology("grid")
def grid(nodes: int, rows: int | None = None) -> nx.Graph:
    """A grid of rows × columns, as square as possible unless ``rows`` is given."""
    return nx.convert_node_labels_to_integers(nx.grid_2d_graph(*_rectangle("grid", "path", nodes, rows)))


@topology("torus")
def torus(nodes: int, rows: int | None = None) -> nx.Graph:
    """A grid whose opposite sides are joined."""
    return nx.convert_node_labels_to_integers(
        nx.grid_2d_graph(*_rectangle("torus", "ring", nodes, rows), periodic=True)
    )


@topology("hypercube")
def hypercube(nodes: int) -> nx.Graph:
    """Nodes i and j are neighbors if they differ in one bit."""
    graph, bits = nx.empty_graph(nodes), _power_of_two("hypercube", nodes)
    graph.add_edges_from((i, i ^ (1 << b)) for i in range(nodes) for b in range(bits))
    return graph


@topology("exponential")
def exponential(nodes: int) -> nx.Graph:
    """Node i has edges to i ± 2^j, j = 0, 1, … while 2^j < n."""
    return directed_exponential(nodes).to_undirected()


@topology("directed_ring", weights="out_degree")
def directed_ring(nodes: int) -> nx.DiGraph:
    """Node i sends to i + 1 only."""
    return nx.cycle_graph(nodes, create_using=nx.DiGraph)


@topology("directed_exponential", weights="out_degree")
def directed_exponential(nodes: int) -> nx.DiGraph:
    """Node i sends to i + 2^j, j = 0, 1, … while 2^j < n."""
    graph = nx.empty_graph(nodes, create_using=nx.DiGraph)
    graph.add_edges_from((i, (i + 2**j) % nodes) for i in range(nodes) for j in range((nodes - 1).bit_length()))
    return graph


@topology("random_digraph", weights="out_degree")
def random_digraph(nodes: int, p: Part = 0.3, seed: int = 0) -> nx.DiGraph:
    """Every arc with probability p, drawn until the graph is strongly connected."""
    for attempt in range(1000):
        draws = generator(seed, EVERYONE, "digraph", attempt).random((nodes, nodes))
        graph = nx.empty_graph(nodes, create_using=nx.DiGraph)
        graph.add_edges_from(np.argwhere((draws < p) & ~np.eye(nodes, dtype=bool)).tolist())
        if nx.is_strongly_connected(graph):
            return graph
    raise UserError(
        f"No strongly connected graph in 1000 draws with nodes={nodes} and topology.p={p}. Increase topology.p."
    )


@topology("one_peer_exponential")
def one_peer_exponential(nodes: int) -> list[nx.Graph]:
    """In round r, node i has an edge to i XOR 2^(r mod m) only, m = log2 n: exact consensus after m rounds."""
    bits = _power_of_two("one_peer_exponential", nodes)
    rounds = [nx.empty_graph(nodes) for _ in range(max(1, bits))]
    for b in range(bits):
        rounds[b].add_edges_from((i, i ^ (1 << b)) for i in range(nodes))
    return rounds


def _rectangle(name: str, instead: str, nodes: int, rows: int | None) -> tuple[int, int]:
    if rows is None:
        rows = max(r for r in range(1, int(nodes**0.5) + 1) if nodes % r == 0)
        if rows == 1 and nodes > 3:
            raise UserError(
                f"With {name}, nodes must not be prime; got {nodes}. Change nodes, or use topology={instead}."
            )
    if rows < 1 or nodes % rows:
        raise UserError(f"topology.rows must divide nodes={nodes}; got {rows}.")
    return rows, nodes // rows


def _power_of_two(name: str, nodes: int) -> int:
    bits = nodes.bit_length() - 1
    if nodes != 1 << bits:
        raise UserError(
            f"With {name}, nodes must be a power of 2; got {nodes}. The nearest are {1 << bits} and {2 << bits}."
        )
    return bits
