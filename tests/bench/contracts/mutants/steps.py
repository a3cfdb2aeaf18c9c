"""D-SGD: X⁺ = W (X − η G(X))"""

from typing import NamedTuple

from torch import Tensor

from bench.base.registry import algorithms
from tests.bench.contracts.mutants.table import mutant

DSGD = algorithms["dsgd"]


@mutant
class Ascends(DSGD):
    def step(self, s, t, grad, mix):
        return s._replace(x=mix(s.x + self.eta[t] * grad(s.x, t))[0])


@mutant
class KeepsItsOwn(DSGD):
    def step(self, s, t, grad, mix):
        x = s.x - self.eta[t] * grad(s.x, t)
        mix(x)
        return s._replace(x=x)


@mutant
class MixesTheGradient(DSGD):
    def step(self, s, t, grad, mix):
        return s._replace(x=s.x - self.eta[t] * mix(grad(s.x, t))[0])


@mutant
class StaleGradient(DSGD):
    class State(NamedTuple):
        x: Tensor
        old: Tensor

    def start(self, x, grad, mix):
        return self.State(x, x)

    def step(self, s, t, grad, mix):
        return self.State(mix(s.x - self.eta[t] * grad(s.old, t))[0], s.x)


@mutant
class LateStepsize(DSGD):
    def step(self, s, t, grad, mix):
        return s._replace(x=mix(s.x - self.eta[max(t - 1, 0)] * grad(s.x, t))[0])


@mutant
class StepsTwice(DSGD):
    def step(self, s, t, grad, mix):
        return s._replace(x=mix(s.x - 2 * self.eta[t] * grad(s.x, t))[0])


@mutant
class AlwaysOneSample(DSGD):
    def step(self, s, t, grad, mix):
        return s._replace(x=mix(s.x - self.eta[t] * grad(s.x, 0))[0])


@mutant
class KnowsTheMean(DSGD):
    def step(self, s, t, grad, mix):
        return s._replace(x=mix(s.x.mean(1, keepdim=True) - self.eta[t] * grad(s.x, t))[0])


@mutant
class WrongExponent(DSGD):
    """√(n/h) to the power 3/2."""

    @staticmethod
    def stepsizes(at, eta: float = 0.01):
        return {"eta": eta * at.root**1.5}
