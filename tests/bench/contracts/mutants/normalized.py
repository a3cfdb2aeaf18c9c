"""D-NASA: X⁺ = W (X − η unit(Z)), and the rest as in D-ASAGT"""

import torch

from bench.base.registry import algorithms
from bench.method import unit
from tests.algorithms.mutants import MeanNorm
from tests.bench.contracts.mutants.table import mutant

DNASA = algorithms["dnasa"]


@mutant
class AscendsTheUnit(DNASA):
    def direction(self, z):
        return -unit(z)


class Normalizes(DNASA):
    """The rule, with its parts to be got wrong."""

    def step(self, s, t, grad, mix):
        v = grad(s.x, t)
        u = s.u + v - s.v
        own = s._replace(x=self.moved(s, u, t), u=u, v=v, z=self.averaged(s, u, t))
        x, u, z = mix(own.x, own.u, own.z)
        return self.chosen(own, own._replace(x=x, u=u, z=z))

    def moved(self, s, u, t):
        return s.x - self.eta[t] * self.direction(s.z)

    def averaged(self, s, u, t):
        return torch.lerp(s.z, u, self.alpha[t])

    def chosen(self, own, mixed):
        return mixed


@mutant
class XOfItsOwn(Normalizes):
    def chosen(self, own, mixed):
        return mixed._replace(x=own.x)


@mutant
class ZOfItsOwn(Normalizes):
    def chosen(self, own, mixed):
        return mixed._replace(z=own.z)


@mutant
class UOfItsOwn(Normalizes):
    def chosen(self, own, mixed):
        return mixed._replace(u=own.u)


@mutant
class NormalizesTheTracker(Normalizes):
    def moved(self, s, u, t):
        return s.x - self.eta[t] * self.direction(u)


@mutant
class NotNormalized(DNASA):
    def direction(self, z):
        return z


mutant(MeanNorm)


@mutant
class EpsilonInTheNorm(DNASA):
    def direction(self, z):
        return z / (torch.linalg.vector_norm(z, dim=-1, keepdim=True) + 1e-8)


@mutant
class SignOfEveryNumber(DNASA):
    def direction(self, z):
        return torch.sign(z)


@mutant
class TwiceTheUnit(DNASA):
    def direction(self, z):
        return 2 * unit(z)


@mutant
class ReadsTheMeanOfAll(Normalizes):
    def moved(self, s, u, t):
        return s.x.mean(1, keepdim=True) - self.eta[t] * self.direction(s.z)


@mutant
class LateAlpha(Normalizes):
    def averaged(self, s, u, t):
        return torch.lerp(s.z, u, self.alpha[max(t - 1, 0)])


@mutant
class HalfInThePlaceOfThreeQuarters(DNASA):
    @staticmethod
    def stepsizes(at, multiplier: float = 1.0, alpha: float = 0.3):
        tables = DNASA.stepsizes(at, multiplier, alpha)
        return {**tables, "eta": multiplier * at.n**0.25 / at.h**0.5} if at.formula else tables
