"""Eigenvalues that have a formula: of matrices that look the same from every node, and of equal weights on a path, a
grid or a star. Formulas are recognised by the entries, not by the name of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from bench.network.sparse import Pattern, Sparse

CHUNK = 1 << 20
"""Entries that are compared at a time."""
ROUNDING = 1e-14
"""How far a diagonal may be from what the weights leave of one."""


def characters(rounds: Sequence[Sparse]) -> np.ndarray | None:
    """The eigenvalues of the product of these matrices, that of the average first; None where they have no formula.

    Where W(i, j) depends on the step from i to j alone, in a group that numbers the nodes, the characters of the group
    are eigenvectors, of every such matrix: its eigenvalues are the Fourier transform of a row. Their moduli are the
    singular values.
    """
    shape = translations([(w.pattern, w.values) for w in rounds])
    if shape is None:
        return None
    product = np.ones(rounds[0].pattern.nodes, dtype=np.complex128)
    for w in rounds:
        row = np.zeros(w.pattern.nodes)
        each = len(w.values) // w.pattern.nodes
        row[w.pattern.columns[:each]] = w.values[:each]
        product *= np.fft.fftn(row.reshape(shape)).ravel()
    return product


def translations(rounds: Sequence[tuple[Pattern, np.ndarray]]) -> tuple[int, ...] | None:
    """The sizes a, b, … of a group Z_a × Z_b × … whose translations leave all of these as they are, if there is one
    in which nodes are numbered as the places of an array are; None: none is known."""
    n = rounds[0][0].nodes
    if any(len(p.rows) % n or (np.diff(p.starts) != len(p.rows) // n).any() for p, _ in rounds):
        return None  # not all have as many neighbours
    return next((shape for shape in _shapes(n) if all(_translated(*one, shape) for one in rounds)), None)


def _shapes(n: int) -> Iterator[tuple[int, ...]]:
    """Rings, tori, and the hypercube."""
    yield (n,)
    yield from ((r, n // r) for r in range(2, n // 2 + 1) if n % r == 0)
    if n > 4 and n & (n - 1) == 0:
        yield (2,) * (n.bit_length() - 1)


def _translated(pattern: Pattern, values: np.ndarray, shape: tuple[int, ...]) -> bool:
    """Whether every row is the first one, moved; all rows have as many entries."""
    each = len(values) // pattern.nodes
    by_step = np.full(pattern.nodes, np.nan)  # of which no entry is equal to anything
    by_step[pattern.columns[:each]] = values[:each]
    ends = [0, *range(min(len(values), 8 * each), len(values), CHUNK), len(values)]  # most differ in the first rows
    for begin, end in pairwise(ends):
        step = _step(pattern.rows[begin:end], pattern.columns[begin:end], shape)
        if (by_step[step] != values[begin:end]).any():
            return False
    return True


def _step(i: np.ndarray, j: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """j − i in the group."""
    pairs = zip(np.unravel_index(j, shape), np.unravel_index(i, shape), shape, strict=True)
    return np.ravel_multi_index(tuple((b - a) % size for b, a, size in pairs), shape)


def eigenvalues(w: Sparse) -> np.ndarray | None:
    """All of a symmetric matrix whose rows sum to one, ascending; None where they have no formula."""
    found = characters([w])
    if found is not None:
        return np.sort(found.real)
    weight = _one_weight(w)
    laplacian = _laplacian(w.pattern) if weight is not None else None
    return None if laplacian is None else np.sort(1 - weight * laplacian)


def _one_weight(w: Sparse) -> float | None:
    """The weight of every edge, where W = I − weight · L with the graph's Laplacian L."""
    off, degree = w.values[w.pattern.off], np.diff(np.append(w.pattern.starts, len(w.values))) - 1
    if not len(off) or off[0] == 0 or (off != off[0]).any():
        return None
    kept = w.values[w.pattern.diagonal]
    return float(off[0]) if np.abs(kept - (1 - off[0] * degree)).max() <= ROUNDING * (1 + degree.max()) else None


def _laplacian(pattern: Pattern) -> np.ndarray | None:
    """The eigenvalues of the Laplacian of a symmetric pattern, where it is a path, a grid row by row, or a star."""
    n = pattern.nodes
    i, j = pattern.rows[pattern.off], pattern.columns[pattern.off]
    i, j = i[i < j], j[i < j]
    if len(i) == n - 1 and n > 2 and (degrees := np.bincount(np.concatenate([i, j]), minlength=n)).max() == n - 1:
        return np.array([0.0, *[1.0] * (n - 2), n]) if degrees.min() == 1 else None
    columns = int((j - i).max())  # from one row of the grid to the next
    columns = n if columns == 1 else columns
    if n % columns:
        return None
    rows = n // columns
    beside = (j - i == 1) & (i % columns != columns - 1)
    below = j - i == columns
    if not (beside | below).all() or len(i) != rows * (columns - 1) + columns * (rows - 1):
        return None
    along = [4 * np.sin(np.pi * np.arange(size) / (2 * size)) ** 2 for size in (rows, columns)]
    return np.add.outer(*along).ravel()
