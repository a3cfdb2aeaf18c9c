"""Mistakes that must be caught by how they behave, not only by their letters: a plausible one in D-NASA, and those that
were found in public code."""

import torch

from bench.base.registry import algorithms
from bench.method.estimates import mean_gradient
from bench.method.gossip import momentum_of_gossip


class MeanNorm(algorithms["dnasa"]):
    """Normalizes by the mean norm over nodes instead of each node's own."""

    def direction(self, z):
        norm = torch.linalg.vector_norm(z, dim=-1, keepdim=True).mean(1, keepdim=True)
        return z / norm.masked_fill(norm == 0, 1.0)


class MoTEFReleased(algorithms["motef"]):
    """Begins with V⁰ = G(X⁰) and M⁰ = 0."""

    def start(self, x, grad, mix):
        return super().start(x, grad, mix)._replace(m=torch.zeros_like(x))


class FSPDAReleased(algorithms["fspda"]):
    """Its dual takes the node's new value and the neighbors' old ones."""

    def step(self, s, t, grad, mix):
        (wx,) = mix(s.x)
        x = s.x - self.eta[t] * grad(s.x, t) - self.pull * s.dual - self.gamma * (s.x - wx)
        return s._replace(x=x, dual=s.dual + self.beta * (x - wx))


class DeTAGBuffer(algorithms["detag"]):
    """Mixes in place, so that W A_{r−1} stands where A_{r−1} is wanted."""

    def step(self, s, t, grad, mix):
        omega = momentum_of_gossip(self.rho)
        g = mean_gradient(grad, s.x, t * self.rounds, self.rounds)
        before = now = (s.x, s.y)
        for _ in range(self.rounds):
            mixed = mix(*now)
            now = tuple((1 + omega) * w - omega * b for w, b in zip(mixed, before, strict=True))
            before = mixed
        x, y = now
        return s._replace(x=x - self.eta[t] * y, y=y + g - s.g, g=g)


class DeTAGStart(algorithms["detag"]):
    """Begins with Y⁰ = G(X⁰) and Ḡ₋ = 0: the first gradient stays in the tracker for ever."""

    def start(self, x, grad, mix):
        return super().start(x, grad, mix)._replace(g=torch.zeros_like(x))


class GTHSGDDead(algorithms["gt_hsgd"]):
    """Whatever β is set to later, the first one is used."""

    def __init__(self, *given, **others):
        super().__init__(*given, **others)
        self.beta = torch.full_like(self.beta, 0.3)
