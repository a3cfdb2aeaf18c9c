"""A plausible mistake in D-NASA that must be caught by how it behaves, not only by its letters."""

import torch

from bench.base.registry import algorithms


class MeanNorm(algorithms["dnasa"]):
    """Normalises by the mean norm over nodes instead of each node's own."""

    def direction(self, z):
        norm = torch.linalg.vector_norm(z, dim=-1, keepdim=True).mean(1, keepdim=True)
        return z / norm.masked_fill(norm == 0, 1.0)
