"""What is known of a network, and the proof that it may be used.

A matrix has entries in [0, 1] and rows or columns that sum to one, on a graph in which everybody reaches everybody.
Where both sums are one it may be mixed by; a method that asks for what a network does not have is refused with the
property, the nodes and a remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from bench.base.errors import UserError
from bench.network.cache import compute_once
from bench.network.sparse import Sparse
from bench.network.spectrum import digest, ends, norm_off_average, second_modulus

TOLERANCE = 1e-9
DISTANCES_UP_TO = 2048
"""Nodes up to which the diameter is computed."""
CHUNK = 256
"""Nodes from which distances are computed at a time."""
SPECTRAL, NORM, PRODUCT, EIGENVALUE = (
    "max(|λ₂|, |λₙ|)",
    "‖W − 11ᵀ/n‖₂",
    "‖W(p−1)⋯W(0) − 11ᵀ/n‖₂ of a period",
    "the second largest |eigenvalue|, of push and pull the larger",
)


class Matrices(NamedTuple):
    """What a round can multiply by; None where a network has no such matrix."""

    mix: Sparse | None  # both sums are one, or the bias was asked for
    push: Sparse | None  # columns sum to one: mass is kept
    pull: Sparse | None  # rows sum to one: constants are kept

    @property
    def any(self) -> Sparse:
        """One of them: they have one pattern."""
        found = next(w for w in (self.mix, self.push, self.pull) if w is not None)
        return found


@dataclass(frozen=True)
class Certificate:
    """What is known of a mixing matrix, or of a sequence of them."""

    nodes: int
    period: int | None  # None: it never repeats
    edges: int  # of all rounds together; where the graph is directed, arcs
    diameter: int | None  # None where nobody talks, or too many do to measure it
    lambda_2: float | None  # None for a sequence, and where W is not symmetric
    lambda_n: float | None  # the smallest eigenvalue of any round, or a bound below it; None: not known, not symmetric
    rho: float | None  # None: nothing is known
    gap: float | None
    hash: str
    biased: bool = False  # allowed by hand: the nodes may agree on something else than the average
    rho_is: str = SPECTRAL
    rows: bool = True  # sum to one, in the matrices that there are
    columns: bool = True
    symmetric: bool = True
    balanced: bool = True  # every node hears as many as hear it
    static: bool = True
    strongly_connected: bool = True
    directed: bool = False


def checked_entries(w: np.ndarray, name: str) -> np.ndarray:
    """A square matrix of finite numbers that are not negative, or a sentence."""
    if w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise UserError(f"The mixing matrix of '{name}' must be square; it has shape {w.shape}.")
    if not np.isfinite(w).all():
        i, j = np.argwhere(~np.isfinite(w))[0]
        raise UserError(f"The mixing matrix of '{name}' has {w[i, j]} at row {i}, column {j}.")
    if w.min(initial=0) < 0:
        i, j = np.unravel_index(w.argmin(), w.shape)
        raise UserError(f"The mixing matrix of '{name}' has the negative entry {w[i, j]:.6g} at ({i}, {j}).")
    return w


def sums_to_one(w: Sparse, axis: int) -> bool:
    return worst_sum(w, axis)[1] <= TOLERANCE


def worst_sum(w: Sparse, axis: int) -> tuple[int, float, float]:
    """The row (1) or column (0) whose sum is farthest from one, how far, and the sum."""
    off = w.sums(axis) - 1
    worst = int(np.abs(off).argmax())
    return worst, abs(float(off[worst])), 1 + float(off[worst])


def matrices_of(w: Sparse, name: str, allow_biased: bool = False) -> Matrices:
    """What a matrix can be used for, by its sums."""
    rows, columns = sums_to_one(w, 1), sums_to_one(w, 0)
    if rows and columns:
        return Matrices(w, w, w)
    if not rows and (allow_biased or not columns):
        worst, _, total = worst_sum(w, 1)
        raise UserError(
            f"The mixing matrix of '{name}' is not stochastic: row {worst} sums to {total:.9g} but must sum to 1. "
            "Give the edges instead and let a weight rule (topology.weights=metropolis) choose the weights."
        )
    if allow_biased and is_directed(w):
        i, j = _one_way(w)
        raise UserError(
            f"The mixing matrix of '{name}' is not symmetric: node {i} hears node {j}, and {j} does not hear {i}. "
            "topology.allow_biased=true is for undirected graphs."
        )
    return Matrices(w if allow_biased else None, None if rows else w, w if rows else None)


def is_symmetric(w: Sparse) -> bool:
    matrix = w.scipy()
    return bool(abs(matrix - matrix.T).max() <= TOLERANCE)


def is_directed(w: Sparse) -> bool:
    """Whether somebody hears a node that does not hear him."""
    pattern = w.scipy() != 0
    return bool((pattern != pattern.T).nnz)


def _one_way(w: Sparse) -> tuple[int, int]:
    pattern = (w.scipy() != 0).astype(np.int8)
    i, j = ((pattern - pattern.T) > 0).nonzero()
    return int(i[0]), int(j[0])


def certify(rounds: Sequence[Matrices], name: str, alone: bool = False) -> Certificate:
    """Of a matrix, or of a sequence of them that repeats."""
    some = [matrices.any for matrices in rounds]
    n = some[0].pattern.nodes
    union = sum((w.scipy() != 0).astype(np.int8) for w in some[1:]) + (some[0].scipy() != 0).astype(np.int8)
    connected = _require_connected(union, name) if not alone else n == 1
    biased = any(m.mix is not None and m.push is not m.mix for m in rounds)
    symmetric = not biased and all(m.mix is not None and is_symmetric(m.mix) for m in rounds)
    named = digest(_distinct(rounds))
    content = f"{named} as {_roles(rounds)}"
    rho, lambda_2, lambda_n, meaning = compute_once(
        "spectrum", n, content, lambda: list(_mixes(rounds, symmetric, biased))
    )
    if rho >= 1 - 1e-12 and not alone:
        raise UserError(
            f"The mixing matrix of '{name}' never reaches agreement: ρ = {rho:.6f}. Use topology.lazy=true."
        )
    arcs = union.nnz - int((union.diagonal() != 0).sum())
    directed = bool(((union != 0) != (union.T != 0)).nnz)
    degrees = [np.bincount(ends_, minlength=n) for ends_ in union.nonzero()]
    return Certificate(
        nodes=n,
        period=len(rounds),
        edges=arcs if directed else arcs // 2,
        diameter=compute_once("diameter", n, content, lambda: diameter(union))
        if connected and n <= DISTANCES_UP_TO
        else None,
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
    """ρ, λ₂, λₙ, and what this ρ is."""
    mixes = [m.mix for m in rounds if m.mix is not None and not biased]
    if len(mixes) < len(
        rounds
    ):  # nothing is mixed by: of what is pushed and what is pulled by, that which forgets last
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


def diameter(graph: sp.csr_array) -> int:
    """The largest number of rounds between two nodes of a strongly connected graph."""
    n = graph.shape[0]
    if graph.nnz > n**2 / 8:  # dense: few products reach everybody
        step = (graph.toarray() != 0).astype(np.float32) + np.eye(n, dtype=np.float32)
        reached, rounds = np.eye(n, dtype=np.float32), 0
        while not reached.all():
            reached, rounds = np.minimum(step @ reached, 1), rounds + 1
        return rounds
    starts = (np.arange(at, min(at + CHUNK, n)) for at in range(0, n, CHUNK))
    return int(max(csgraph.dijkstra(graph, unweighted=True, indices=chunk).max() for chunk in starts))


def _require_connected(union: object, name: str) -> bool:
    count, part = csgraph.connected_components(union, directed=True, connection="strong")
    if count == 1:
        return True
    weak = csgraph.connected_components(union, directed=False)[0]
    smallest = int(np.bincount(part).argmin())
    inside = np.flatnonzero(part == smallest).tolist()
    if weak > 1:
        raise UserError(
            f"The graph '{name}' is not connected: nodes {inside} cannot reach the others. Add an edge between the "
            "parts."
        )
    raise UserError(
        f"The graph '{name}' is not strongly connected: between nodes {inside} and the others, messages go one way "
        "only. Add an edge in the other direction."
    )


def _distinct(rounds: Sequence[Matrices]) -> list[Sparse]:
    """Every matrix of every round, once where several are one."""
    out: list[Sparse] = []
    for matrices in rounds:
        for w in matrices:
            if w is not None and all(w is not other for other in out):
                out.append(w)
    return out


def _roles(rounds: Sequence[Matrices]) -> list[list[int | None]]:
    """Which of the distinct matrices each round mixes, pushes and pulls by."""
    distinct = _distinct(rounds)
    place = {id(w): number for number, w in enumerate(distinct)}
    return [[None if w is None else place[id(w)] for w in matrices] for matrices in rounds]
