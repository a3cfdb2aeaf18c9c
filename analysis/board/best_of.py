"""V(K): the expected score of a method that tries K random settings of its grid, for every K from one grid."""

from __future__ import annotations

from math import comb

import numpy as np
import pandas as pd


def chances(settings: int, tried: int) -> np.ndarray:
    """Return the probability that the j-th best of m settings is the best of K random ones: C(m−j, K−1)/C(m, K)."""
    return np.array([comb(settings - j, tried - 1) / comb(settings, tried) for j in range(1, settings + 1)])


def best_of(table: pd.DataFrame) -> np.ndarray:
    """Return V(K) for K = 1, …, m from the scores of m settings (rows) and seeds (columns).

    The score at each seed is that of the setting that the other seeds choose; a single seed chooses for itself.
    Settings that lack a seed do not count.
    """
    scores = table.dropna().to_numpy(float)
    m, seeds = scores.shape
    out = np.zeros(m)
    for seed in range(seeds):
        others = np.delete(scores, seed, axis=1) if seeds > 1 else scores
        order = np.argsort(-others.mean(axis=1), kind="stable")
        out += [float(chances(m, tried) @ scores[order, seed]) for tried in range(1, m + 1)]
    return out / seeds
