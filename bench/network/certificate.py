"""Certificates of networks: the properties of their mixing matrices, and the errors if a matrix is invalid.

A valid matrix has entries in [0, 1] and rows or columns that sum to one, on a strongly connected graph. A doubly
stochastic matrix serves all methods. ``Mixing.must_serve`` rejects methods that need another property.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bench.base.errors import UserError
from bench.network.cache import compute_once
from bench.network.sparse import Pattern, Sparse
from bench.network.spectrum import digest, ends, norm_off_average, second_modulus

TOLERANCE = 1e-9
FEW = 64
"""The largest number of nodes whose paths are found by matrix products: SciPy is slow to import."""
DISTANCES_UP_TO = 2048
"""The largest number of nodes for which the diameter is computed."""
SPECTRAL, NORM, PRODUCT, EIGENVALUE = (
    "max(|λ₂|, |λₙ|)",
    "‖W − 11ᵀ/n‖₂",
    "‖W(p−1)⋯W(0) − 11ᵀ/n‖₂ of a period",
    "the second largest |eigenvalue|, of push and pull the larger",
)


class Matrices(NamedTuple):
    """The matrices of a round, with one pattern; None if the network has no such matrix."""

    mix: Sparse | None  # doubly stochastic, or biased with topology.allow_biased
    push: Sparse | None  # column-stochastic: preserves sums
    pull: Sparse | None  # row-stochastic: preserves consensus

    @property
    def any(self) -> Sparse:
        """The first matrix that is not None."""
        return next(w for w in self if w is not None)

    def lazy(self) -> Matrices:
        made = {id(w): w.lazy() for w in self if w is not None}
        return Matrices(*(None if w is None else made[id(w)] for w in self))


@dataclass(frozen=True)
class Certificate:
    """The properties of a mixing matrix, or of a sequence of them."""

    nodes: int
    period: int | None  # None: the sequence never repeats
    edges: int  # in the union of all rounds; arcs if the graph is directed
    diameter: int | None  # None: no communication, or too many nodes
    lambda_2: float | None  # None: a sequence, or W is not symmetric
    lambda_n: float | None  # the smallest eigenvalue of any round, or a lower bound; None: unknown or not symmetric
    rho: float | None  # None: unknown
    gap: float | None
    hash: str
    biased: bool = False  # the nodes may agree on another point than the average
    rho_is: str = SPECTRAL
    rows: bool = True  # whether rows sum to one
    columns: bool = True
    symmetric: bool = True
    balanced: bool = True  # every node has equal in- and out-degree
    static: bool = True
    strongly_connected: bool = True
    directed: bool = False


def checked_entries(w: np.ndarray, name: str) -> np.ndarray:
    """Return the matrix; raise ``UserError`` unless it is square, finite and nonnegative."""
    if w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise UserError(f"The mixing matrix of '{name}' must be square; it has shape {w.shape}.")
    wrong = np.argwhere(~np.isfinite(w) | (w < 0))
    if len(wrong):
        i, j = wrong[0]
        raise UserError(
            f"The mixing matrix of '{name}' has {w[i, j]:.6g} in row {i}, column {j}; entries must be finite and "
            "not negative."
        )
    return w


def sums_to_one(w: Sparse, axis: int) -> bool:
    return bool(np.abs(w.sums(axis) - 1).max() <= TOLERANCE)


def worst_sum(w: Sparse, axis: int) -> tuple[int, float]:
    """Return the row (axis 1) or column (axis 0) whose sum is farthest from one, and the sum."""
    sums = w.sums(axis)
    worst = int(np.abs(sums - 1).argmax())
    return worst, float(sums[worst])


def matrices_of(w: Sparse, name: str, allow_biased: bool = False) -> Matrices:
    """Return a matrix in each role that its row and column sums permit."""
    rows, columns = sums_to_one(w, 1), sums_to_one(w, 0)
    if rows and columns:
        return Matrices(w, w, w)
    if not rows and (allow_biased or not columns):
        worst, total = worst_sum(w, 1)
        raise UserError(
            f"The mixing matrix of '{name}' is not stochastic: row {worst} sums to {total:.9g} but must sum to 1. "
            "Use topology=edges with a weight rule (topology.weights=metropolis), which computes the weights."
        )
    if allow_biased and (arc := _one_way(w)):
        i, j = arc
        raise UserError(
            f"The mixing matrix of '{name}' is directed: node {j} sends to node {i}, but {i} does not send to {j}. "
            "topology.allow_biased=true requires an undirected graph."
        )
    return Matrices(w if allow_biased else None, None if rows else w, w if rows else None)


def is_symmetric(w: Sparse) -> bool:
    return bool(np.abs(w.values - w.mirrored()).max() <= TOLERANCE)


def _one_way(w: Sparse) -> tuple[int, int] | None:
    """Return the first (i, j) such that j sends to i and i does not send to j; None if the graph is undirected."""
    found = np.flatnonzero((w.values != 0) & (w.mirrored() == 0))
    return (int(w.pattern.rows[found[0]]), int(w.pattern.columns[found[0]])) if len(found) else None


def _union(matrices: Sequence[Sparse]) -> Sparse:
    """Return the matrix with 1 where any of these is not zero."""
    n = matrices[0].pattern.nodes
    codes = [w.pattern.rows * n + w.pattern.columns for w in matrices]
    every = np.unique(np.concatenate(codes))
    used = np.unique(np.concatenate([code[w.values != 0] for code, w in zip(codes, matrices, strict=True)]))
    return Sparse(Pattern(n, *np.divmod(every, n)), np.isin(every, used).astype(np.int8))


def certify(rounds: Sequence[Matrices], name: str, alone: bool = False) -> Certificate:
    """Return the certificate of a matrix, or of a periodic sequence of them.

    Raises:
        UserError: The graph is not strongly connected, or ρ = 1; never for ``alone``.
    """
    some = [matrices.any for matrices in rounds]
    n = some[0].pattern.nodes
    union = _union(some)
    if not alone:
        _require_connected(union, name)
    connected = not alone or n == 1
    biased = any(m.mix is not None and m.push is not m.mix for m in rounds)
    symmetric = not biased and all(m.mix is not None and is_symmetric(m.mix) for m in rounds)
    distinct = list({id(w): w for matrices in rounds for w in matrices if w is not None}.values())
    place = {id(w): number for number, w in enumerate(distinct)}
    roles = [[None if w is None else place[id(w)] for w in matrices] for matrices in rounds]
    named = digest(distinct)
    content = f"{named} as {roles}"
    rho, lambda_2, lambda_n, meaning = compute_once(
        "spectrum", n, content, lambda: list(_mixes(rounds, symmetric, biased))
    )
    if rho >= 1 - 1e-12 and not alone:
        raise UserError(
            f"The mixing matrix of '{name}' never reaches consensus: ρ = {rho:.6f}. Add topology.lazy=true."
        )
    measured = connected and n <= DISTANCES_UP_TO
    arcs, pattern = union.heard(), union.pattern
    directed = _one_way(union) is not None
    degrees = [np.bincount(side[union.values != 0], minlength=n) for side in (pattern.rows, pattern.columns)]
    return Certificate(
        nodes=n,
        period=len(rounds),
        edges=arcs if directed else arcs // 2,
        diameter=compute_once("diameter", n, content, lambda: diameter(union)) if measured else None,
        lambda_2=lambda_2,
        lambda_n=lambda_n,
        rho=rho,
        gap=1 - rho,
        hash=named,
        biased=biased,
        rho_is=meaning,
        rows=all(m.pull is not None for m in rounds),
        columns=all(m.push is not None for m in rounds),
        symmetric=symmetric,
        balanced=bool((degrees[0] == degrees[1]).all()),
        static=len(rounds) == 1,
        strongly_connected=connected,
        directed=directed,
    )


def _mixes(rounds: Sequence[Matrices], symmetric: bool, biased: bool) -> tuple[float, float | None, float | None, str]:
    """Return ρ, λ₂, λₙ, and the definition of this ρ."""
    mixes = [m.mix for m in rounds if m.mix is not None and not biased]
    if len(mixes) < len(rounds):  # no doubly stochastic matrix: the slower of push and pull
        sides = [[m.push for m in rounds], [m.pull for m in rounds]]
        whole = [[w for w in side if w is not None] for side in sides if None not in side]
        return max(second_modulus(side) for side in whole), None, None, EIGENVALUE
    if not symmetric:
        return norm_off_average(mixes), None, None, NORM if len(mixes) == 1 else PRODUCT
    spectra = [ends(w) for w in mixes]
    lambda_n = min(smallest for _, smallest in spectra)
    if len(mixes) > 1:
        return norm_off_average(mixes), None, lambda_n, PRODUCT
    lambda_2 = spectra[0][0]
    rho = max(abs(lambda_2), abs(lambda_n)) if mixes[0].pattern.nodes > 1 else 0.0
    return rho, lambda_2, lambda_n, SPECTRAL


def _step(graph: Sparse) -> np.ndarray:
    """Return the dense matrix with 1 where node j reaches node i in at most one round."""
    return (graph.dense() != 0).astype(np.float32) + np.eye(graph.pattern.nodes, dtype=np.float32)


def diameter(graph: Sparse) -> int:
    """Return the largest number of rounds between two nodes of a strongly connected graph."""
    n = graph.pattern.nodes
    if n <= FEW or np.count_nonzero(graph.values) > n**2 / 8:  # dense: faster than Dijkstra's algorithm
        step, reached, rounds = _step(graph), np.eye(n, dtype=np.float32), 0
        while not reached.all():
            reached, rounds = np.minimum(step @ reached, 1), rounds + 1
        return rounds
    from scipy.sparse import csgraph

    return int(csgraph.dijkstra(graph.scipy() != 0, unweighted=True).max())


def _all_reach_all(graph: Sparse) -> bool:
    """Return whether a graph of few nodes is strongly connected."""
    return bool(np.linalg.matrix_power(_step(graph) > 0, graph.pattern.nodes).all())


def _require_connected(union: Sparse, name: str) -> None:
    if union.pattern.nodes <= FEW and _all_reach_all(union):
        return
    from scipy.sparse import csgraph

    graph = union.scipy() != 0
    count, part = csgraph.connected_components(graph, directed=True, connection="strong")
    if count == 1:
        return
    inside = np.flatnonzero(part == np.bincount(part).argmin()).tolist()
    if csgraph.connected_components(graph, directed=False)[0] > 1:
        raise UserError(
            f"The graph '{name}' is not connected: nodes {inside} cannot reach the others. Add an edge between the "
            "parts."
        )
    raise UserError(
        f"The graph '{name}' is not strongly connected: between nodes {inside} and the others, messages go one way "
        "only. Add an edge in the other direction."
    )
