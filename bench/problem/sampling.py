"""Which rows of a shard a mini-batch holds."""

from __future__ import annotations

import numpy as np

from bench.base.randomness import BLOCK, generator


def with_replacement(seed: int, node: int, stream: int, block: int, samples: int, batch: int) -> np.ndarray:
    """Places in a shard for one block of mini-batches, (BLOCK, batch): every one drawn afresh."""
    return generator(seed, node, f"batch {stream}", block).integers(samples, size=(BLOCK, batch))


def without_replacement(seed: int, node: int, stream: int, block: int, samples: int, batch: int) -> np.ndarray:
    """The same from a walk through the whole shard in a fresh order each epoch, cut into mini-batches."""
    start, stop = block * BLOCK * batch, (block + 1) * BLOCK * batch
    epochs = range(start // samples, -(-stop // samples))
    walk = np.concatenate([generator(seed, node, f"epoch {stream}", e).permutation(samples) for e in epochs])
    skip = start - epochs.start * samples
    return walk[skip : skip + stop - start].reshape(BLOCK, batch)
