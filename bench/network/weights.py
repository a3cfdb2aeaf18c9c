"""Weight rules: from a graph to a symmetric doubly stochastic matrix.

A rule gives the weight of every edge; what is left of each row goes on the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np

from bench.base.registry import weight_rules

Rule = Callable[[nx.Graph], np.ndarray]


def weights(name: str) -> Callable[[Rule], Rule]:
    """Register a rule: a function from a graph to the n×n matrix of its edges' weights."""
    return weight_rules.register(name)


def weigh(graph: nx.Graph, rule: str) -> np.ndarray:
    """The mixing matrix of ``graph`` under ``rule``."""
    matrix = weight_rules[rule](graph)
    return matrix + np.diag(1.0 - matrix.sum(axis=1))


def lazy(matrix: np.ndarray) -> np.ndarray:
    """(I + W)/2: half of every round is staying where one is; no eigenvalue is negative."""
    return (np.eye(len(matrix)) + matrix) / 2


def adjacency(graph: nx.Graph) -> np.ndarray:
    return nx.to_numpy_array(graph, nodelist=range(len(graph)), weight=None)


@weights("uniform")
def uniform(graph: nx.Graph) -> np.ndarray:
    """1/n per edge"""
    return adjacency(graph) / len(graph)


@weights("max_degree")
def max_degree(graph: nx.Graph) -> np.ndarray:
    """1/(d_max + 1) per edge"""
    a = adjacency(graph)
    return a / (a.sum(axis=1).max() + 1)


@weights("metropolis")
def metropolis(graph: nx.Graph) -> np.ndarray:
    """1/(1 + max(d_i, d_j))"""
    a = adjacency(graph)
    degree = a.sum(axis=1)
    return a / (1 + np.maximum(degree[:, None], degree[None, :]))


@weights("laplacian")
def laplacian(graph: nx.Graph) -> np.ndarray:
    """I − L/λ_max(L): 1/λ_max per edge"""
    a = adjacency(graph)
    largest = np.linalg.eigvalsh(np.diag(a.sum(axis=1)) - a)[-1]
    return a / largest if largest > 0 else a
