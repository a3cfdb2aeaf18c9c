"""What an author of a new method may get wrong in its declaration."""

from dataclasses import replace

from tests.bench.contracts.mistakes import OwnGradient, Right, State


class DeclaresOneVector(Right):
    declaration = replace(Right.declaration, sends=1)


class DeclaresOneRound(Right):
    declaration = replace(Right.declaration, rounds=1)


class DeclaresNoStart(Right):
    declaration = replace(Right.declaration, start_samples=0)


class EstimatesWhatIsNotThere(Right):
    declaration = replace(Right.declaration, estimates="u")


class TracksWhatItDoesNot(Right):
    declaration = replace(Right.declaration, tracks={"m": "v"})


class SumsToZeroItSays(Right):
    declaration = replace(Right.declaration, zero_sum=("m",))


class PushesItSays(Right):
    declaration = replace(Right.declaration, mixes="push")


class BoundedItSays(Right):
    declaration = replace(Right.declaration, bounded=True)


class ScaleFreeItSays(Right):
    declaration = replace(Right.declaration, scale_free=True)


class IsSGDItSays(Right):
    declaration = replace(Right.declaration, pooled="sgd")


class ExactItSays(OwnGradient):
    """D-SGD with momentum, and what is not read left out: it assumes bounded heterogeneity, and does not say so."""

    declaration = replace(Right.declaration, sends=1, rounds=1, estimates=None, tracks={}, unread=("y",))

    def step(self, s, t, grad, mix):
        m = self.momentum(s)
        (x,) = mix(s.x - self.eta[t] * m)
        v = grad(x, t + 1)
        return State(x, m, v, v)
