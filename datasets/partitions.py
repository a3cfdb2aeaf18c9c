"""Which node holds which samples. Every sample lies on exactly one node."""

from __future__ import annotations

import numpy as np

from bench.supervised import partition


@partition("even")
def even(labels: np.ndarray, nodes: int, g: np.random.Generator) -> list[np.ndarray]:
    """Contiguous shards in the dataset's own order, sizes differing by at most one."""
    return np.array_split(np.arange(len(labels)), nodes)


@partition("iid")
def iid(labels: np.ndarray, nodes: int, g: np.random.Generator) -> list[np.ndarray]:
    """Shuffled, then even."""
    return np.array_split(g.permutation(len(labels)), nodes)
