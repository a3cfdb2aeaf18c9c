"""Eigenvalues and norms of mixing matrices: by LAPACK for small matrices, by ARPACK for large ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bench.base.errors import UserError
from bench.base.keyed import EVERYONE, generator
from bench.network.sparse import Sparse

if TYPE_CHECKING:
    import scipy.sparse as sp

WHOLE = 1024
"""The largest number of nodes for which LAPACK computes all eigenvalues. For more it takes about a minute."""
BESIDE = 1e-6
"""Distance of the shift from the end of a spectrum. Without a shift, ARPACK does not converge on long rings."""
VECTORS, RESTARTS = 40, 10
"""Lanczos vectors, and the restarts after which ARPACK uses the shift instead."""
EXACT = 1e-14
"""Relative size of the rounding errors that remain if a product of matrices is 11ᵀ/n."""


def ends(w: Sparse) -> tuple[float, float]:
    """Return λ₂ and λ_n of a symmetric matrix whose rows sum to one."""
    n = w.pattern.nodes
    if n == 1:
        return 0.0, float(w.values[0])
    if n <= WHOLE:
        spectrum = np.linalg.eigvalsh(w.dense())
        return float(spectrum[-2]), float(spectrum[0])
    matrix = w.scipy()
    lowest = 2 * matrix.diagonal().min() - 1  # a lower bound by Gershgorin
    return nearest(matrix, 1 + BESIDE, 2)[0], nearest(matrix, lowest - BESIDE, 1, "SA")[0]


def largest_eigenvalue(w: Sparse) -> float:
    """Return the largest eigenvalue of a symmetric matrix."""
    if w.pattern.nodes <= WHOLE:
        return float(np.linalg.eigvalsh(w.dense())[-1])
    matrix = w.scipy()
    highest = float(abs(matrix).sum(axis=1).max())  # an upper bound by Gershgorin
    return nearest(matrix, highest * (1 + BESIDE), 1)[0]


def nearest(matrix: sp.csr_array, shift: float, count: int, end: Literal["LA", "SA"] = "LA") -> list[float]:
    """Return ``count`` eigenvalues at the upper or lower end of a spectrum, ascending; ``shift`` lies beyond that end.

    Plain iteration is fast if the network mixes fast. Otherwise, as on a long ring, the graph is sparse and the
    shifted matrix is cheap to factor.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh  # slow to import

    n = matrix.shape[0]
    begin = _begin(n)
    how: dict[str, Any] = {"k": count, "v0": begin, "return_eigenvectors": False}
    limit = None if matrix.nnz > n**2 / 8 else RESTARTS
    quotient = float(begin @ (matrix @ begin)) / float(begin @ begin)  # lies between the ends of the spectrum
    try:
        found = eigsh(matrix, which=end, ncv=min(n, VECTORS), maxiter=limit, **how)
        wrong = found.max() < quotient if end == "LA" else found.min() > quotient
    except ArpackNoConvergence:
        wrong = True
    if wrong:  # also if the iteration broke down, as on a matching, whose eigenvalues are all 0 or 1
        found = eigsh(matrix.tocsc(), sigma=shift, **how)
    return sorted(found.tolist())


def _begin(n: int) -> np.ndarray:
    """Return a fixed start vector, so that ARPACK rounds the same way every time."""
    return generator(0, EVERYONE, "iteration").standard_normal(n)


def _dense_product(rounds: Sequence[Sparse]) -> np.ndarray:
    """Return W(p−1)⋯W(0)."""
    dense = [w.dense() for w in rounds]
    return np.linalg.multi_dot(dense[::-1]) if len(dense) > 1 else dense[0]


def norm_off_average(rounds: Sequence[Sparse]) -> float:
    """Return ‖W(p−1)⋯W(0) − 11ᵀ/n‖₂ of doubly stochastic matrices, the contraction of the consensus error."""
    n = rounds[0].pattern.nodes
    if n <= WHOLE:
        return float(np.linalg.norm(_dense_product(rounds) - 1.0 / n, 2))
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator, eigsh

    matrices = [w.scipy() for w in rounds]
    if len(matrices) == 1:
        return max(0.0, nearest(csr_array(matrices[0].T @ matrices[0]), 1 + BESIDE, 2)[0]) ** 0.5

    def there_and_back(x: np.ndarray) -> np.ndarray:
        y = x - x.mean()
        for matrix in matrices:
            y = matrix @ y
        for matrix in reversed(matrices):
            y = matrix.T @ y
        return y - y.mean()

    if np.linalg.norm(there_and_back(_begin(n))) < EXACT * n**0.5:  # ARPACK cannot iterate on a zero operator
        return 0.0
    operator = LinearOperator((n, n), matvec=there_and_back, dtype=np.float64)
    return max(0.0, float(eigsh(operator, k=1, which="LA", v0=_begin(n), return_eigenvectors=False)[0])) ** 0.5


def off_average(w: Sparse) -> np.ndarray:
    """Return λ₂, …, λ_n of a symmetric matrix; for a large matrix, a grid between λ_n and λ₂."""
    if w.pattern.nodes <= WHOLE:
        return np.linalg.eigvalsh(w.dense())[:-1]
    second, last = ends(w)
    return np.linspace(last, second, WHOLE)


def accelerated_norm(eigenvalues: np.ndarray, rho: float, rounds: int) -> float:
    """Return ‖FG_R − 11ᵀ/n‖₂ of R accelerated rounds, A_{r+1} = (1+ω) W A_r − ω A_{r−1} with ω of ρ and A₋₁ = A₀.

    Along an eigenvector this is the same recursion in its eigenvalue. The result may exceed ρ.
    """
    root = np.sqrt(max(0.0, 1 - rho**2))
    omega = (1 - root) / (1 + root)
    before = now = np.ones_like(eigenvalues)
    for _ in range(rounds):
        before, now = now, (1 + omega) * eigenvalues * now - omega * before
    return float(np.abs(now).max(initial=0.0))


def second_modulus(rounds: Sequence[Sparse]) -> float:
    """Return the second largest |eigenvalue| of the product of the rounds, its asymptotic rate."""
    n = rounds[0].pattern.nodes
    if n == 1:
        return 0.0
    if n <= WHOLE:
        return float(np.sort(np.abs(np.linalg.eigvals(_dense_product(rounds))))[-2])
    from scipy.sparse.linalg import ArpackError, eigs

    product = rounds[0].scipy()
    for w in rounds[1:]:
        product = w.scipy() @ product
    try:
        largest = eigs(product, k=2, which="LM", ncv=VECTORS, maxiter=n, v0=_begin(n), return_eigenvectors=False)
        return float(np.sort(np.abs(largest))[0])
    except ArpackError as error:
        raise UserError(
            f"Cannot compute ρ of this network of {n} nodes ({error}). Use at most {WHOLE} nodes, or undirected edges."
        ) from error


def digest(rounds: Sequence[Sparse]) -> str:
    """Return a hash of the matrices: of all entries, or of the stored ones if the matrices are large."""
    sha = hashlib.sha256()
    for w in rounds:
        large = w.pattern.nodes > WHOLE
        for part in (w.pattern.rows, w.pattern.columns, w.values) if large else (w.dense(),):
            sha.update(np.ascontiguousarray(part).tobytes())
    return sha.hexdigest()[:16]
