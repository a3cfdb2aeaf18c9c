"""The rows of the training data that a process holds, their weights in f, and the rows of mini-batches."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.randomness import BLOCK, EVERYONE, generator
from bench.problem.problem import Setting

FIXED = 500
"""Maximal number of samples on which the loss at each node is measured."""
Shards = Sequence[Sequence[np.ndarray]]
"""For every distinct seed, the rows of each node."""


def weights_in_f(nodes: int, shards: Shards, total: int) -> np.ndarray:
    """Return the weight of each row in f, (seeds, total): 1/(n·|shard i|) for rows of node i, 0 for other rows."""
    weights = np.zeros((len(shards), total))
    for row, of_seed in zip(weights, shards, strict=True):
        for shard in of_seed:
            row[shard] = 1 / (nodes * len(shard))
    return weights


class Measured(NamedTuple):
    """Rows on which f is evaluated for some of the replicas."""

    replicas: Tensor
    rows: Tensor | None  # None: all rows held here
    weights: Tensor  # of the rows in f: by distinct seed if rows is None, else (1, rows)

    def pieces(self, size: int) -> Iterator[tuple[Tensor | slice, Tensor]]:
        """Yield some rows and their weights at a time."""
        for start in range(0, self.weights.shape[1], size):
            part = slice(start, start + size)
            yield part if self.rows is None else self.rows[part], self.weights[:, part]


def measured(setting: Setting, weights: np.ndarray) -> list[Measured]:
    """Return what to evaluate: all replicas together if f has all rows for every seed, else those of one seed each."""
    replicas = torch.arange(len(setting.seeds), device=setting.device)
    if weights.all():
        return [Measured(replicas, None, torch.as_tensor(weights, device=setting.device))]
    seed_of = setting.per_replica(torch.arange(len(weights), device=setting.device))
    out = []
    for k, of_seed in enumerate(weights):
        rows = np.flatnonzero(of_seed)
        mine = (torch.as_tensor(one, device=setting.device) for one in (rows, of_seed[None, rows]))
        out.append(Measured(replicas[seed_of == k], *mine))
    return out


def hosted_rows(
    setting: Setting, shards: Shards, total: int
) -> tuple[list[list[np.ndarray]], np.ndarray | slice, np.ndarray]:
    """Return the shards of the hosted nodes as indices into the rows held here, these rows, and their weights in f."""
    mine = [[of_seed[i] for i in setting.hosted] for of_seed in shards]
    weights = weights_in_f(setting.nodes, mine, total)
    rows = np.flatnonzero(weights.any(axis=0))
    place = np.zeros(total, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    local = [[place[shard] for shard in of_seed] for of_seed in mine]
    return local, sliced(rows), weights[:, rows]


def sliced(rows: np.ndarray) -> np.ndarray | slice:
    """Return contiguous rows as a slice, which does not copy memory-mapped arrays; other rows unchanged."""
    contiguous = len(rows) > 0 and len(rows) == rows[-1] - rows[0] + 1
    return slice(int(rows[0]), int(rows[-1]) + 1) if contiguous else rows


def on_device(inputs: np.ndarray, device: torch.device, used: torch.dtype) -> Tensor:
    """Return inputs as a tensor. It shares their memory unless models, which may change it, use them as they are.

    ``used`` is the type to which other inputs are converted before a model receives them.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of arrays that are read-only
        out = torch.as_tensor(inputs, device=device)
    return out.clone() if out.dtype == used and out.device.type == "cpu" else out


def at_most(setting: Setting, shards: Shards, most: int) -> list[list[np.ndarray]]:
    """Return at most ``most`` rows of each hosted shard, always the same."""
    return [
        [
            shard[generator(seed, node, "evaluation").permutation(len(shard))[:most]]
            for node, shard in zip(setting.hosted, of_seed, strict=True)
        ]
        for seed, of_seed in zip(setting.distinct_seeds, shards, strict=True)
    ]


def fixed(rows: np.ndarray) -> np.ndarray:
    """Return at most ``FIXED`` of these rows, the same for all seeds, nodes and methods."""
    some = generator(0, EVERYONE, "node loss").choice(len(rows), min(FIXED, len(rows)), replace=False)
    return rows[np.sort(some)]


def pieces(device: torch.device, floats: int) -> int:
    """Return how many samples to evaluate at once, if a model keeps so many numbers per sample.

    A CPU is fastest if the numbers fit its caches, a GPU if it has enough work.
    """
    if device.type == "cuda":
        return max(1, (1 << 29) // floats)
    return max(1, min(1 << 12, (1 << 24) // floats))


def with_replacement(seed: int, node: int, stream: int, block: int, samples: int, batch: int) -> np.ndarray:
    """Return indices into a shard for one block of mini-batches, (BLOCK, batch), drawn with replacement."""
    return generator(seed, node, f"batch {stream}", block).integers(samples, size=(BLOCK, batch))


def without_replacement(seed: int, node: int, stream: int, block: int, samples: int, batch: int) -> np.ndarray:
    """Return indices into a shard, (BLOCK, batch), from a new random order of the shard in every epoch."""
    start, stop = block * BLOCK * batch, (block + 1) * BLOCK * batch
    epochs = range(start // samples, -(-stop // samples))
    walk = np.concatenate([generator(seed, node, f"epoch {stream}", e).permutation(samples) for e in epochs])
    skip = start - epochs.start * samples
    return walk[skip : skip + stop - start].reshape(BLOCK, batch)
