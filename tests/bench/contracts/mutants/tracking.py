"""D-SGT: X⁺ = W (X − η U), V⁺ = G(X⁺), U⁺ = W U + V⁺ − V"""

import torch

from bench.base.registry import algorithms
from tests.bench.contracts.mutants.table import mutant

DSGT = algorithms["dsgt"]


@mutant
class AscendsTracking(DSGT):
    def step(self, s, t, grad, mix):
        x, u = mix(s.x + self.eta[t] * s.u, s.u)
        v = grad(x, t + 1)
        return s._replace(x=x, u=u + v - s.v, v=v)


@mutant
class DropsTheTracker(DSGT):
    """U⁺ = V⁺: D-SGD with a message too many."""

    def step(self, s, t, grad, mix):
        new = super().step(s, t, grad, mix)
        return new._replace(u=new.v)


@mutant
class TrackerUnmixed(DSGT):
    def step(self, s, t, grad, mix):
        new = super().step(s, t, grad, mix)
        return new._replace(u=s.u + new.v - s.v)


@mutant
class XUnmixed(DSGT):
    def step(self, s, t, grad, mix):
        x = s.x - self.eta[t] * s.u
        _, u = mix(x, s.u)
        v = grad(x, t + 1)
        return s._replace(x=x, u=u + v - s.v, v=v)


@mutant
class TrackerBeginsAtZero(DSGT):
    def start(self, x, grad, mix):
        return super().start(x, grad, mix)._replace(u=torch.zeros_like(x))


@mutant
class BothBeginAtZero(DSGT):
    def start(self, x, grad, mix):
        zero = torch.zeros_like(x)
        return super().start(x, grad, mix)._replace(u=zero, v=zero)


@mutant
class GradientBeforeTheStep(DSGT):
    def step(self, s, t, grad, mix):
        x, u = mix(s.x - self.eta[t] * s.u, s.u)
        v = grad(s.x, t + 1)
        return s._replace(x=x, u=u + v - s.v, v=v)


@mutant
class CombinesWhileAdapting(DSGT):
    def step(self, s, t, grad, mix):
        x, u = mix(s.x, s.u)
        x = x - self.eta[t] * s.u
        v = grad(x, t + 1)
        return s._replace(x=x, u=u + v - s.v, v=v)


@mutant
class NothingTakenAway(DSGT):
    """U⁺ = W U + V⁺."""

    def step(self, s, t, grad, mix):
        new = super().step(s, t, grad, mix)
        return new._replace(u=new.u + s.v)


@mutant
class SampleAgain(DSGT):
    def step(self, s, t, grad, mix):
        x, u = mix(s.x - self.eta[t] * s.u, s.u)
        v = grad(x, t)
        return s._replace(x=x, u=u + v - s.v, v=v)
