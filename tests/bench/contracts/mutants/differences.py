"""D²: X⁺ = W (2X − X₋ − η_t G + η_{t−1} G₋)"""

import torch

from bench.base.registry import algorithms
from tests.bench.contracts.mutants.table import mutant

D2 = algorithms["d2"]


@mutant
class IsDSGD(D2):
    def step(self, s, t, grad, mix):
        step = self.eta[t] * grad(s.x, t)
        return s._replace(x=mix(s.x - step)[0], x_old=s.x, step_old=step)


@mutant
class AscendsTwice(D2):
    def step(self, s, t, grad, mix):
        step = -self.eta[t] * grad(s.x, t)
        return s._replace(x=mix(2 * s.x - s.x_old - step + s.step_old)[0], x_old=s.x, step_old=step)


@mutant
class ForgetsTheOldStep(D2):
    def step(self, s, t, grad, mix):
        return super().step(s._replace(step_old=torch.zeros_like(s.x)), t, grad, mix)


@mutant
class OldGradientNewStepsize(D2):
    """η_t G₋ where η_{t−1} G₋ is wanted."""

    def step(self, s, t, grad, mix):
        g = grad(s.x, t)
        x = mix(2 * s.x - s.x_old - self.eta[t] * (g - s.step_old))[0]
        return s._replace(x=x, x_old=s.x, step_old=g)


@mutant
class SignOfTheOldStep(D2):
    def step(self, s, t, grad, mix):
        return super().step(s._replace(step_old=-s.step_old), t, grad, mix)


@mutant
class SignOfTheMomentum(D2):
    """X − (X − X₋) where X + (X − X₋) is wanted."""

    def step(self, s, t, grad, mix):
        step = self.eta[t] * grad(s.x, t)
        return s._replace(x=mix(s.x_old - step + s.step_old)[0], x_old=s.x, step_old=step)


@mutant
class MixesXAlone(D2):
    """W X + (X − X₋) − η_t G + η_{t−1} G₋."""

    def step(self, s, t, grad, mix):
        step = self.eta[t] * grad(s.x, t)
        return s._replace(x=mix(s.x)[0] + s.x - s.x_old - step + s.step_old, x_old=s.x, step_old=step)


@mutant
class BeginsBesideZero(D2):
    """X₋ = 0 at the start."""

    def start(self, x, grad, mix):
        return super().start(x, grad, mix)._replace(x_old=torch.zeros_like(x))
