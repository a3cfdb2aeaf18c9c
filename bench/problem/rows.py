"""Which rows of the training data a process holds, and how much each weighs in f."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from bench.base.randomness import generator
from bench.problem.problem import Setting

Shards = Sequence[Sequence[np.ndarray]]
"""For every distinct seed, the rows of each node."""


def weights_in_f(nodes: int, shards: Shards, total: int) -> np.ndarray:
    """A row of node i weighs 1/(n·|shard i|), for every distinct seed; others nothing: (seeds, total)."""
    weights = np.zeros((len(shards), total))
    for row, of_seed in zip(weights, shards, strict=True):
        for shard in of_seed:
            row[shard] = 1 / (nodes * len(shard))
    return weights


def hosted_rows(
    setting: Setting, shards: Shards, total: int
) -> tuple[list[list[np.ndarray]], np.ndarray | slice, np.ndarray]:
    """The hosted nodes' shards as places among the rows kept here, these rows, and their weights in f."""
    mine = [[of_seed[i] for i in setting.hosted] for of_seed in shards]
    weights = weights_in_f(setting.nodes, mine, total)
    rows = np.flatnonzero(weights.any(axis=0))
    place = np.zeros(total, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    local = [[place[shard] for shard in of_seed] for of_seed in mine]
    contiguous = len(rows) == rows[-1] - rows[0] + 1  # then no copy is made of what may be mapped from a file
    return local, slice(int(rows[0]), int(rows[-1]) + 1) if contiguous else rows, weights[:, rows]


def at_most(setting: Setting, shards: Shards, most: int) -> list[list[np.ndarray]]:
    """At most so many rows of every hosted node's shard, for each seed, always the same."""
    return [
        [
            shard[generator(seed, node, "evaluation").permutation(len(shard))[:most]]
            for node, shard in zip(setting.hosted, of_seed, strict=True)
        ]
        for seed, of_seed in zip(setting.distinct_seeds, shards, strict=True)
    ]


def pieces(device: torch.device, floats: int) -> int:
    """How many samples to evaluate at once, of a model that keeps so many numbers for each.

    A CPU is fastest while a piece stays in its caches, a GPU while it has enough to do.
    """
    if device.type == "cuda":
        return max(1, (1 << 29) // floats)
    return max(1, min(1 << 12, (1 << 24) // floats))
