"""Plausible mistakes in D-NASA: each must be caught by how it behaves, not only by its letters."""

import torch

from bench.algorithm import unit
from bench.registry import algorithms

DNASA = algorithms["dnasa"]


class FedByGradient(DNASA):
    """The average is fed by the node's own gradient; the tracker is sent and never read."""

    def step(self, s, t, grad, mix):
        x = s.x - self.eta[t] * unit(s.z)
        v = grad(s.x, t)
        u = s.u + v - s.v
        x, u, z = mix(x, u, torch.lerp(s.z, v, self.alpha[t]))
        return s._replace(x=x, u=u, v=v, z=z)


class MeanNorm(DNASA):
    """Normalises by the mean norm over nodes instead of each node's own."""

    def step(self, s, t, grad, mix):
        norm = torch.linalg.vector_norm(s.z, dim=-1, keepdim=True).mean(1, keepdim=True)
        x = s.x - self.eta[t] * s.z / norm.masked_fill(norm == 0, 1.0)
        v = grad(s.x, t)
        u = s.u + v - s.v
        x, u, z = mix(x, u, torch.lerp(s.z, u, self.alpha[t]))
        return s._replace(x=x, u=u, v=v, z=z)


class PerTensor(DNASA):
    """Normalises every tensor of the model by itself, as the released code does."""

    def step(self, s, t, grad, mix):
        parts = [unit(s.z[..., part]) for part in self.layout.slices.values()]
        x = s.x - self.eta[t] * torch.cat(parts, dim=-1)
        v = grad(s.x, t)
        u = s.u + v - s.v
        x, u, z = mix(x, u, torch.lerp(s.z, u, self.alpha[t]))
        return s._replace(x=x, u=u, v=v, z=z)
