"""Mixing matrices, and the proof that each may be used.

Only a matrix with entries in [0, 1], symmetric, with rows and columns that sum to one, on a
connected graph, with ρ < 1, becomes a ``Mixing``. What fails is refused with the property, the
nodes and a remedy.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import networkx as nx
import numpy as np

from bench.base.errors import UserError
from bench.network.weights import weigh

TOLERANCE = 1e-9
COPIES = 6
"""Matrices of that size that are in memory at once while one is certified."""


@dataclass(frozen=True)
class Certificate:
    """What is known of a mixing matrix, or of the product of one period of a sequence."""

    nodes: int
    period: int
    edges: int  # undirected, of all rounds together
    diameter: int | None  # None where nobody talks
    lambda_2: float | None  # None for a sequence: a product of symmetric matrices need not be symmetric
    lambda_n: float | None
    rho: float
    gap: float
    hash: str
    biased: bool = False  # not symmetric, allowed by hand: the nodes may agree on something else than the average


def _weighed(graph: nx.Graph, name: str, rule: str) -> np.ndarray:
    graph = nx.Graph(graph)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))  # networkx's cycle of one node is a loop
    if set(graph) != set(range(len(graph))):
        raise UserError(
            f"The graph '{name}' must have the nodes 0 … {len(graph) - 1}; it has {sorted(graph, key=str)}."
        )
    return weigh(graph, rule)


def _check_factor(matrix: np.ndarray, name: str, allow_biased: bool) -> None:
    """Refuse a matrix that is not square, finite, non-negative, symmetric and doubly stochastic.

    With ``allow_biased`` its rows must sum to one and its graph be undirected, and that is all.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise UserError(f"The mixing matrix of '{name}' must be square; it has shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise UserError(f"The mixing matrix of '{name}' has {matrix[i, j]} at row {i}, column {j}.")
    for axis, word in ((1, "row"), (0, "column")):
        off = matrix.sum(axis=axis) - 1
        worst = int(np.abs(off).argmax())
        if abs(off[worst]) > TOLERANCE and not (allow_biased and word == "column"):
            raise UserError(
                f"The mixing matrix of '{name}' is not doubly stochastic: {word} {worst} sums to "
                f"{1 + off[worst]:.9g}, {abs(off[worst]):.3g} away from 1. Every method would be biased; "
                "give the edges instead and let a weight rule (metropolis) choose the weights, or study the bias: "
                "topology.allow_biased=true."
            )
    if matrix.min() < 0:
        i, j = np.unravel_index(matrix.argmin(), matrix.shape)
        raise UserError(f"The mixing matrix of '{name}' has the negative entry {matrix[i, j]:.6g} at ({i}, {j}).")
    skew = np.abs((matrix > 0) ^ (matrix.T > 0) if allow_biased else matrix - matrix.T).astype(float)
    if skew.max() > TOLERANCE:
        i, j = np.unravel_index(skew.argmax(), skew.shape)
        raise UserError(
            f"The mixing matrix of '{name}' is not symmetric: entries ({i}, {j}) and ({j}, {i}) differ by "
            f"{skew[i, j]:.3g}. Use (W + Wᵀ)/2 if both directions are meant."
        )


def _certify(matrices: np.ndarray, name: str, alone: bool = False) -> Certificate:
    n = matrices.shape[1]
    union = nx.from_numpy_array(matrices.any(axis=0))
    parts = sorted(nx.connected_components(union), key=len)
    if len(parts) > 1 and not alone:
        raise UserError(
            f"The graph '{name}' is not connected: nodes {sorted(parts[0])} cannot reach the others. "
            "Add an edge between the parts."
        )
    product = np.linalg.multi_dot(matrices[::-1]) if len(matrices) > 1 else matrices[0]
    lambda_2: float | None = None
    lambda_n: float | None = None
    biased = not np.allclose(matrices, matrices.transpose(0, 2, 1), rtol=0, atol=TOLERANCE)
    if biased:
        rho = float(np.sort(np.abs(np.linalg.eigvals(product)))[-2]) if n > 1 else 0.0
    elif len(matrices) == 1:
        spectrum = np.linalg.eigvalsh(product)
        lambda_n = float(spectrum[0])
        lambda_2 = float(spectrum[-2]) if n > 1 else 0.0
        rho = max(abs(lambda_2), abs(lambda_n)) if n > 1 else 0.0
    else:
        rho = float(np.linalg.norm(product - 1.0 / n, 2))
    if rho >= 1 - 1e-12 and not alone:
        raise UserError(
            f"The mixing matrix of '{name}' never reaches agreement: ρ = {rho:.6f}. Use topology.lazy=true."
        )
    return Certificate(
        nodes=n,
        period=len(matrices),
        edges=union.number_of_edges() - nx.number_of_selfloops(union),
        diameter=nx.diameter(union) if len(parts) == 1 else None,
        lambda_2=lambda_2,
        lambda_n=lambda_n,
        rho=rho,
        gap=1 - rho,
        hash=hashlib.sha256(matrices.tobytes()).hexdigest()[:16],
        biased=biased,
    )
