"""The matrix of a round in which links are down, and the numbers of links."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from bench.network.sparse import Pattern, Sparse

Semantics = Literal["reabsorb", "renormalise", "zero_fill"]


def without(w: Sparse, lost: np.ndarray, semantics: Semantics, side: str) -> Sparse:
    """The matrix of a round in which nothing comes through at some places off the diagonal."""
    pattern, values = w.pattern, w.values.copy()
    gone = pattern.off[lost]
    if semantics == "reabsorb":
        keeper = pattern.columns if side == "push" else pattern.rows
        values[pattern.diagonal] += np.bincount(keeper[gone], weights=values[gone], minlength=pattern.nodes)
    values[gone] = 0
    if semantics == "renormalise":
        arrived = np.bincount(pattern.rows, weights=values, minlength=pattern.nodes)
        values[pattern.diagonal] += arrived == 0  # nobody was heard, not even oneself: stay
        values /= np.where(arrived == 0, 1, arrived)[pattern.rows]
    return Sparse(pattern, values)


def pair_numbers(pattern: Pattern) -> np.ndarray:
    """The number of the pair {i, j} of every place off the diagonal, among all pairs."""
    i, j = pattern.rows[pattern.off], pattern.columns[pattern.off]
    high, low = np.maximum(i, j), np.minimum(i, j)
    return high * (high - 1) // 2 + low


def link_numbers(pattern: Pattern, heard: Pattern) -> np.ndarray:
    """The same among the links that there may be."""
    return np.searchsorted(np.unique(pair_numbers(heard)), pair_numbers(pattern))


def squared_laplacian(w: sp.csr_array) -> sp.csr_array:
    """Σ w_e² L_e over the edges."""
    squares = w.multiply(w).tocsr()
    squares = squares - sp.diags_array(squares.diagonal())
    return sp.csr_array(sp.diags_array(np.asarray(squares.sum(axis=1)).ravel()) - squares)
