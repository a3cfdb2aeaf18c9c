"""Graphs by name: a function from the number of nodes to who talks to whom.

A function returns a graph on the nodes 0 … n−1, or a list of graphs that take turns. Weights live
elsewhere (weights.py); the decorator only names the rule used when the user names none. A function
that brings weights of its own returns the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import networkx as nx
import numpy as np

from bench.base.errors import UserError
from bench.base.memory import require
from bench.base.options import Part
from bench.base.randomness import EVERYONE, generator
from bench.base.registry import topologies

EDGE_BYTES = 170
"""What networkx takes for an edge, measured."""
Graphs: TypeAlias = nx.Graph | list[nx.Graph] | np.ndarray
NetworkKind = Literal["gossip", "all_reduce", "alone"]
"""How what is said is billed, and whether it must reach everybody: two references beside the networks."""


@dataclass(frozen=True)
class Topology:
    graph: Callable[..., Any]
    weights: str | None  # None: the function returns a matrix
    kind: NetworkKind = "gossip"
    drawn: bool = False  # the function draws the edges of a round
    alike: bool = False  # in what is drawn, no two nodes and no two pairs can be told apart


def topology(
    name: str,
    weights: str | None = "metropolis",
    kind: NetworkKind = "gossip",
    drawn: bool = False,
    alike: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a graph under ``name`` with its usual weight rule.

    With ``drawn``, the function is given a generator of random numbers besides the number of nodes, and returns the
    edges of one round, (m, 2); ``alike`` says that its law is the same however the nodes are numbered.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        topologies.add(name, Topology(function, weights, kind, drawn, alike))
        return function

    return decorate


def graphs_of(name: str, nodes: int, options: Mapping[str, Any]) -> list[nx.Graph | np.ndarray]:
    """What the topology's function returns, each graph or matrix of it for as many nodes as the run has."""
    try:
        made = topologies[name].graph(nodes, **options)
    except UserError:
        raise
    except Exception as error:  # a stranger's function may raise anything
        raise UserError(
            f"topology={name} cannot be made for nodes={nodes}: {type(error).__name__}: {error}."
        ) from error
    out = made if isinstance(made, list) else [made]
    for item in out:
        if not isinstance(item, nx.Graph | np.ndarray):
            raise UserError(f"topology={name} must give a graph, a matrix or a list of them; it gives {item!r}.")
        if len(item) != nodes and (isinstance(item, nx.Graph) or item.shape == (len(item), len(item))):
            kind = "matrix" if isinstance(item, np.ndarray) else "graph"
            raise UserError(
                f"topology={name} gives a {kind} for {len(item)} nodes, but nodes={nodes}; its function is asked for "
                f"one on 0 … {nodes - 1}. Set nodes={len(item)}, or let the function follow its argument."
            )
    if not out:
        raise UserError(f"topology={name} gives an empty list; a sequence of graphs has at least one.")
    return out


@topology("ring", weights="max_degree")
def ring(nodes: int) -> nx.Graph:
    return nx.cycle_graph(nodes)


@topology("complete", weights="uniform")
def complete(nodes: int) -> nx.Graph:
    require(EDGE_BYTES * nodes**2 / 2, f"A complete graph of {nodes} nodes", "use fewer nodes or a sparser graph")
    return nx.complete_graph(nodes)


@topology("all_reduce", weights="uniform", kind="all_reduce")
def all_reduce(nodes: int) -> nx.Graph:
    """The exact average, W = 11ᵀ/n, billed as a ring all-reduce: 2(n−1)/n vectors a node. A reference, no network."""
    return complete(nodes)


@topology("alone", kind="alone")
def alone(nodes: int) -> nx.Graph:
    """Nobody talks, W = I: what a node can do with its own data. A reference, no network."""
    return nx.empty_graph(nodes)


@topology("ladder", weights="laplacian")
def ladder(nodes: int) -> nx.Graph:
    if nodes % 2:
        raise UserError(f"A ladder has two equal rails, so nodes must be even; got {nodes}.")
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
    raise UserError(f"No connected graph in 1000 draws with nodes={nodes} and topology.p={p}; raise topology.p.")


@topology("path")
def path(nodes: int) -> nx.Graph:
    return nx.path_graph(nodes)


@topology("star")
def star(nodes: int) -> nx.Graph:
    """Node 0 in the middle."""
    return nx.star_graph(nodes - 1)


@topology("grid")
def grid(nodes: int, rows: int | None = None) -> nx.Graph:
    """rows × columns, as square as can be unless ``rows`` is given."""
    return nx.convert_node_labels_to_integers(nx.grid_2d_graph(*_rectangle("grid", "path", nodes, rows)))


@topology("torus")
def torus(nodes: int, rows: int | None = None) -> nx.Graph:
    """A grid whose opposite sides are joined."""
    return nx.convert_node_labels_to_integers(
        nx.grid_2d_graph(*_rectangle("torus", "ring", nodes, rows), periodic=True)
    )


@topology("hypercube")
def hypercube(nodes: int) -> nx.Graph:
    """i and j are neighbours when they differ in one bit."""
    graph, bits = nx.empty_graph(nodes), _power_of_two("hypercube", nodes)
    graph.add_edges_from((i, i ^ (1 << b)) for i in range(nodes) for b in range(bits))
    return graph


@topology("exponential")
def exponential(nodes: int) -> nx.Graph:
    """i talks to i ± 2^j, j = 0, 1, … while 2^j < n."""
    return directed_exponential(nodes).to_undirected()


@topology("directed_ring", weights="out_degree")
def directed_ring(nodes: int) -> nx.DiGraph:
    """i is heard by i + 1 alone."""
    return nx.cycle_graph(nodes, create_using=nx.DiGraph)


@topology("directed_exponential", weights="out_degree")
def directed_exponential(nodes: int) -> nx.DiGraph:
    """i is heard by i + 2^j, j = 0, 1, … while 2^j < n."""
    graph = nx.empty_graph(nodes, create_using=nx.DiGraph)
    graph.add_edges_from((i, (i + 2**j) % nodes) for i in range(nodes) for j in range((nodes - 1).bit_length()))
    return graph


@topology("random_digraph", weights="out_degree")
def random_digraph(nodes: int, p: Part = 0.3, seed: int = 0) -> nx.DiGraph:
    """Every arc with probability p, drawn until everybody reaches everybody."""
    for attempt in range(1000):
        draws = generator(seed, EVERYONE, "digraph", attempt).random((nodes, nodes))
        graph = nx.empty_graph(nodes, create_using=nx.DiGraph)
        graph.add_edges_from(np.argwhere((draws < p) & ~np.eye(nodes, dtype=bool)).tolist())
        if nx.is_strongly_connected(graph):
            return graph
    raise UserError(
        f"No strongly connected graph in 1000 draws with nodes={nodes} and topology.p={p}; raise topology.p."
    )


@topology("one_peer_exponential")
def one_peer_exponential(nodes: int) -> list[nx.Graph]:
    """In round r, i talks to i XOR 2^(r mod m) alone, m = log2 n: after m rounds all agree exactly."""
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
                f"{nodes} nodes make no {name} of two rows or more; use another number or topology={instead}."
            )
    if rows < 1 or nodes % rows:
        raise UserError(f"topology.rows={rows} does not divide {nodes} nodes.")
    return rows, nodes // rows


def _power_of_two(name: str, nodes: int) -> int:
    bits = nodes.bit_length() - 1
    if nodes != 1 << bits:
        raise UserError(f"{name} needs a power of two nodes; got {nodes}. The nearest are {1 << bits} and {2 << bits}.")
    return bits
