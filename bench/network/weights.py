"""Weight rules: from a graph to a mixing matrix.

A rule returns the weight of every arc; the diagonal makes sums equal to one. On an undirected graph these are the sums
of rows and columns. On a directed graph they are those of columns (preserves sums, for ``mix.push``) or of rows
(preserves consensus, for ``mix.pull``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from bench.base.errors import UserError
from bench.base.registry import weight_rules
from bench.network.cache import compute_once
from bench.network.certificate import TOLERANCE, Matrices
from bench.network.sparse import Arcs, Sparse
from bench.network.spectrum import digest, largest_eigenvalue

Weigh = Callable[[Arcs], np.ndarray]
Keeps = Literal["both", "columns", "rows"]


class Rule(NamedTuple):
    """A registered weight rule, with the arguments of ``weights``."""

    weigh: Weigh
    keeps: Keeps


def weights(name: str, keeps: Keeps = "both") -> Callable[[Weigh], Weigh]:
    """Register a weight rule. A decorator for a function from the arcs of a graph to the weight of each.

    Args:
        name: The name on the command line, ``topology.weights=NAME``.
        keeps: The sums that the diagonal makes equal to one: ``"both"`` for undirected graphs and a rule that is
            symmetric in source and target, ``"columns"`` (push) or ``"rows"`` (pull) for directed graphs.

    Example:
        >>> @weights("cautious")
        ... def cautious(arcs: Arcs) -> np.ndarray:
        ...     return 1 / (2 * np.maximum(arcs.in_degree[arcs.source], arcs.in_degree[arcs.target]))
    """

    def decorate(function: Weigh) -> Weigh:
        weight_rules.add(name, Rule(function, keeps))
        return function

    return decorate


def weigh(arcs: Arcs, name: str) -> Sparse:
    """Return the matrix of a graph under a registered rule.

    Raises:
        UserError: The rule does not suit directed graphs, or returns an array of another shape.
    """
    rule: Rule = weight_rules[name]
    if arcs.directed and rule.keeps == "both":
        raise UserError(
            f"The weight rule '{name}' requires an undirected graph. Use topology.weights=out_degree or in_degree."
        )
    values = np.asarray(rule.weigh(arcs), dtype=np.float64)
    if values.shape != arcs.source.shape:
        raise UserError(
            f"The weight rule '{name}' must return one weight per arc, an array of shape {arcs.source.shape}; it "
            f"returned one of shape {values.shape}."
        )
    ends = arcs.source if rule.keeps == "columns" else arcs.target
    return Sparse.of_arcs(arcs, values, 1.0 - np.bincount(ends, weights=values, minlength=arcs.nodes))


def weighed(arcs: Arcs, rule: str) -> Matrices:
    """Return the matrices of a graph: one in all roles if the rule keeps both sums, else in- and out-weights."""
    own, keeps = weigh(arcs, rule), weight_rules[rule].keeps
    if keeps == "both":
        return Matrices(own, own, own)
    push = own if keeps == "columns" else weigh(arcs, "out_degree")
    pull = own if keeps == "rows" else weigh(arcs, "in_degree")
    if np.allclose(push.values, pull.values, rtol=0, atol=TOLERANCE):  # both sums are one
        return Matrices(own, own, own)
    return Matrices(None, push, pull)


@weights("uniform")
def uniform(arcs: Arcs) -> np.ndarray:
    """1/n per edge."""
    return np.full(len(arcs.source), 1 / arcs.nodes)


@weights("max_degree")
def max_degree(arcs: Arcs) -> np.ndarray:
    """1/(d_max + 1) per edge."""
    return np.full(len(arcs.source), 1 / (arcs.in_degree.max() + 1))


@weights("metropolis")
def metropolis(arcs: Arcs) -> np.ndarray:
    """1/(1 + max(d_i, d_j))."""
    return 1 / (1 + np.maximum(arcs.in_degree[arcs.source], arcs.in_degree[arcs.target]))


@weights("laplacian")
def laplacian(arcs: Arcs) -> np.ndarray:
    """I − L/λ_max(L): 1/λ_max per edge."""
    minus = Sparse.of_arcs(arcs, np.full(len(arcs.source), -1.0), arcs.in_degree.astype(np.float64))
    largest = compute_once("largest eigenvalue", arcs.nodes, digest([minus]), lambda: largest_eigenvalue(minus))
    return np.full(len(arcs.source), 1 / largest if largest > 0 else 1.0)


@weights("out_degree", keeps="columns")
def out_degree(arcs: Arcs) -> np.ndarray:
    """1/(d_j + 1) to each out-neighbor of j: columns sum to one."""
    return 1 / (1 + arcs.out_degree[arcs.source])


@weights("in_degree", keeps="rows")
def in_degree(arcs: Arcs) -> np.ndarray:
    """1/(d_i + 1) from each in-neighbor of i: rows sum to one."""
    return 1 / (1 + arcs.in_degree[arcs.target])
