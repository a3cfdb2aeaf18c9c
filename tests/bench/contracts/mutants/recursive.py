"""Recursive gradients: V⁺ = G(X⁺; s) + (1−β) (V − G(X; s)), both gradients on one sample s"""

import torch

from bench.base.registry import algorithms
from tests.algorithms.mutants import GTHSGDDead
from tests.bench.contracts.mutants.table import mutant


def two_samples(name: str) -> type:
    """G(X⁺; s) − G(X; s−1): the noise of the two gradients does not cancel, and V loses its smaller variance."""
    base = algorithms[name]

    def step(self, s, t, grad, mix):
        return base.step(self, s, t, lambda x, number: grad(x, number - (x is s.x)), mix)

    return mutant(type("TwoSamples", (base,), {"step": step}))


for _name in ("gt_hsgd", "storm", "deepstorm", "adamdos", "docom"):
    two_samples(_name)
mutant(GTHSGDDead)


@mutant
class NewPointTwice(algorithms["gt_hsgd"]):
    """G(X⁺; s) in the place of G(X; s): a moving average of gradients."""

    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - self.eta[t] * s.y)
        v = grad(x, t + 1) + (1 - self.beta) * (s.v - grad(x, t + 1))
        (y,) = mix(s.y + v - s.v)
        return s._replace(x=x, v=v, y=y)


@mutant
class SignOfTheCorrection(algorithms["gt_hsgd"]):
    """G(X⁺; s) − (1−β) (V − G(X; s))."""

    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - self.eta[t] * s.y)
        v = grad(x, t + 1) - (1 - self.beta) * (s.v - grad(s.x, t + 1))
        (y,) = mix(s.y + v - s.v)
        return s._replace(x=x, v=v, y=y)


@mutant
class EstimateUnmixed(algorithms["storm"]):
    """Each node updates an estimate of its own."""

    def step(self, s, t, grad, mix):
        x = s.x - self.eta[t] * s.v
        v = grad(x, t + 1) + (1 - self.beta) * (s.v - grad(s.x, t + 1))
        mix(v)
        return s._replace(x=x, v=v)


@mutant
class SquareOfTheTracker(algorithms["adamdos"]):
    """a⁺ of Y² in the place of G(X⁺)²."""

    def step(self, s, t, grad, mix):
        new = super().step(s, t, grad, mix)
        return new._replace(a=torch.lerp(s.y.square(), s.a, self.fading))
