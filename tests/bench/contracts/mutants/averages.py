"""D-ASAGT: X⁺ = W (X − α η Z), V⁺ = G(X), Ũ = U + V⁺ − V, Z⁺ = W ((1−α) Z + α Ũ), U⁺ = W Ũ"""

import torch

from bench.base.registry import algorithms
from tests.bench.contracts.mutants.table import mutant

DASAGT = algorithms["dasagt"]


class Averages(DASAGT):
    """The rule, with its parts to be got wrong."""

    sign = -1

    def step(self, s, t, grad, mix):
        v = grad(s.x, t)
        u = s.u + v - s.v
        own = s._replace(x=self.moved(s, t), u=u, v=v, z=self.averaged(s, u, v, t))
        x, u, z = mix(own.x, own.u, own.z)
        return self.chosen(own, own._replace(x=x, u=u, z=z))

    def moved(self, s, t):
        return s.x + self.sign * self.alpha[t] * self.eta[t] * s.z

    def averaged(self, s, u, v, t):
        return torch.lerp(s.z, u, self.alpha[t])

    def chosen(self, own, mixed):
        return mixed


@mutant
class AscendsTheAverage(Averages):
    sign = 1


@mutant
class AverageUnmixed(Averages):
    def chosen(self, own, mixed):
        return mixed._replace(z=own.z)


@mutant
class TrackerOfTheAverageUnmixed(Averages):
    def chosen(self, own, mixed):
        return mixed._replace(u=own.u)


@mutant
class AveragesOwnGradients(Averages):
    def averaged(self, s, u, v, t):
        return torch.lerp(s.z, v, self.alpha[t])


@mutant
class ForgetsNothing(Averages):
    """Z + α Ũ: what was averaged is never forgotten."""

    def averaged(self, s, u, v, t):
        return s.z + self.alpha[t] * u


@mutant
class AverageBeginsAtX(Averages):
    def start(self, x, grad, mix):
        return super().start(x, grad, mix)._replace(z=x)


@mutant
class AveragesTheOldTracker(Averages):
    def averaged(self, s, u, v, t):
        return torch.lerp(s.z, s.u, self.alpha[t])


@mutant
class AlphaForgotten(Averages):
    """X − η Z: longer steps."""

    def moved(self, s, t):
        return s.x - self.eta[t] * s.z


@mutant
class WeightsSwapped(Averages):
    """α Z + (1−α) Ũ: a shorter memory."""

    def averaged(self, s, u, v, t):
        return torch.lerp(u, s.z, self.alpha[t])
