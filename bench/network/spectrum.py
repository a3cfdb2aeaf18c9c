"""How fast a matrix mixes: eigenvalues and norms, of small matrices whole and of large ones where they matter."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigs, eigsh

from bench.base.errors import UserError
from bench.base.randomness import EVERYONE, generator
from bench.network.sparse import Sparse

WHOLE = 1024
"""Nodes up to which all eigenvalues are computed: beyond, a minute for what is a moment by factoring near the ends."""
BESIDE = 1e-6
"""How far beyond the end of a spectrum the shift lies: on a ring of thousands, plain iteration does not converge."""
VECTORS, RESTARTS = 40, 10
"""Vectors that an iteration holds, and restarts after which a symmetric matrix is factored instead."""
EXACT = 1e-14
"""What rounding leaves of a disagreement that a product removes entirely."""


def ends(w: Sparse) -> tuple[float, float]:
    """λ₂ and λ_n of a symmetric matrix whose rows sum to one."""
    n = w.pattern.nodes
    if n == 1:
        return 0.0, float(w.values[0])
    if n <= WHOLE:
        spectrum = np.linalg.eigvalsh(w.dense())
        return float(spectrum[-2]), float(spectrum[0])
    matrix = w.scipy()
    lowest = 2 * matrix.diagonal().min() - 1  # no eigenvalue is below: Gershgorin
    return nearest(matrix, 1 + BESIDE, 2)[0], nearest(matrix, lowest - BESIDE, 1, "SA")[0]


def largest_eigenvalue(w: Sparse) -> float:
    """Of a symmetric matrix."""
    if w.pattern.nodes <= WHOLE:
        return float(np.linalg.eigvalsh(w.dense())[-1])
    matrix = w.scipy()
    highest = float(abs(matrix).sum(axis=1).max())  # no eigenvalue is above: Gershgorin
    return nearest(matrix, highest * (1 + BESIDE), 1)[0]


def nearest(matrix: sp.csr_array, shift: float, count: int, end: Literal["LA", "SA"] = "LA") -> list[float]:
    """So many eigenvalues at the upper or lower end of a spectrum, ascending; no eigenvalue is beyond ``shift``.

    Iteration is quick where things mix quickly, however many edges there are. Where it is not, as on a long ring, the
    graph is thin, and factoring it next to the end is.
    """
    n = matrix.shape[0]
    how: dict[str, Any] = {"k": count, "v0": _begin(matrix.shape[0]), "return_eigenvectors": False}
    dense = matrix.nnz > n**2 / 8
    try:
        found = eigsh(
            matrix,
            which=end,
            ncv=min(n, VECTORS),
            maxiter=None if dense else RESTARTS,
            **how,
        )
    except ArpackNoConvergence:
        found = eigsh(matrix.tocsc(), sigma=shift, **how)
    return sorted(found.tolist())


def _begin(n: int) -> np.ndarray:
    """Where an iteration starts: the same every time, so that its rounding is."""
    return generator(0, EVERYONE, "iteration").standard_normal(n)


def norm_off_average(rounds: Sequence[Sparse]) -> float:
    """‖W(p−1)⋯W(0) − 11ᵀ/n‖₂ of doubly stochastic matrices: the most that disagreement can keep over these rounds."""
    n = rounds[0].pattern.nodes
    if n <= WHOLE:
        dense = [w.dense() for w in rounds]
        product = np.linalg.multi_dot(dense[::-1]) if len(dense) > 1 else dense[0]
        return float(np.linalg.norm(product - 1.0 / n, 2))
    matrices = [w.scipy() for w in rounds]
    if len(matrices) == 1:
        return max(0.0, nearest(sp.csr_array(matrices[0].T @ matrices[0]), 1 + BESIDE, 2)[0]) ** 0.5

    def there_and_back(x: np.ndarray) -> np.ndarray:
        y = x - x.mean()
        for matrix in matrices:
            y = matrix @ y
        for matrix in reversed(matrices):
            y = matrix.T @ y
        return y - y.mean()

    if np.linalg.norm(there_and_back(_begin(n))) < EXACT * n**0.5:  # the product is 11ᵀ/n: nothing to iterate on
        return 0.0
    operator = LinearOperator((n, n), matvec=there_and_back, dtype=np.float64)
    return max(0.0, float(eigsh(operator, k=1, which="LA", v0=_begin(n), return_eigenvectors=False)[0])) ** 0.5


def off_average(w: Sparse) -> np.ndarray:
    """The eigenvalues of a symmetric matrix except that of the average; of a large matrix, points between the ends."""
    if w.pattern.nodes <= WHOLE:
        return np.linalg.eigvalsh(w.dense())[:-1]
    second, last = ends(w)
    return np.linspace(last, second, WHOLE)


def accelerated_norm(eigenvalues: np.ndarray, rho: float, rounds: int) -> float:
    """‖FG_R − 11ᵀ/n‖₂ of R accelerated rounds: A_{r+1} = (1+ω) W A_r − ω A_{r−1} with ω of ρ and A₋₁ = A₀, which along
    an eigenvector is the same recursion in its eigenvalue. Weights are negative: it may be more than ρ."""
    root = np.sqrt(max(0.0, 1 - rho**2))
    omega = (1 - root) / (1 + root)
    before = now = np.ones_like(eigenvalues)
    for _ in range(rounds):
        before, now = now, (1 + omega) * eigenvalues * now - omega * before
    return float(np.abs(now).max(initial=0.0))


def second_modulus(rounds: Sequence[Sparse]) -> float:
    """The second largest |eigenvalue| of the product of the rounds: how fast it forgets, in the end."""
    n = rounds[0].pattern.nodes
    if n == 1:
        return 0.0
    if n <= WHOLE:
        dense = [w.dense() for w in rounds]
        product = np.linalg.multi_dot(dense[::-1]) if len(dense) > 1 else dense[0]
        return float(np.sort(np.abs(np.linalg.eigvals(product)))[-2])
    product = rounds[0].scipy()
    for w in rounds[1:]:
        product = w.scipy() @ product
    try:
        largest = eigs(product, k=2, which="LM", ncv=VECTORS, maxiter=n, v0=_begin(n), return_eigenvectors=False)
        return float(np.sort(np.abs(largest))[0])
    except ArpackError as error:
        raise UserError(
            f"How fast this network of {n} nodes mixes cannot be computed ({error}); use at most {WHOLE} nodes, or "
            "undirected edges."
        ) from error


def digest(rounds: Sequence[Sparse]) -> str:
    """Of the matrices, entry by entry; of large ones, those that there are."""
    sha = hashlib.sha256()
    for w in rounds:
        large = w.pattern.nodes > WHOLE
        for part in (w.pattern.rows, w.pattern.columns, w.values) if large else (w.dense(),):
            sha.update(np.ascontiguousarray(part).tobytes())
    return sha.hexdigest()[:16]
