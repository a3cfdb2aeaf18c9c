"""What an author of a new method may get wrong in its declaration."""

from dataclasses import replace

from tests.bench.contracts.mistakes import OwnGradient, Right, State


class DeclaresOneVector(Right):
    properties = replace(Right.properties, vectors_per_step=1)


class DeclaresOneRound(Right):
    properties = replace(Right.properties, rounds=1)


class DeclaresNoStart(Right):
    properties = replace(Right.properties, start_samples=0)


class EstimatesWhatIsNotThere(Right):
    properties = replace(Right.properties, estimates="u")


class TracksWhatItDoesNot(Right):
    properties = replace(Right.properties, tracks={"m": "v"})


class SumsToZeroItSays(Right):
    properties = replace(Right.properties, zero_sum=("m",))


class PushesItSays(Right):
    properties = replace(Right.properties, mixes="push")


class BoundedItSays(Right):
    properties = replace(Right.properties, bounded_step=True)


class ScaleFreeItSays(Right):
    properties = replace(Right.properties, scale_free=True)


class IsSGDItSays(Right):
    properties = replace(Right.properties, centralized_equivalent="sgd")


class ExactItSays(OwnGradient):
    """D-SGD with momentum, and what is not read left out: it assumes bounded heterogeneity, and does not say so."""

    properties = replace(
        Right.properties, vectors_per_step=1, rounds=1, estimates=None, tracks={}, diagnostic_states=("y",)
    )

    def step(self, s, t, grad, mix):
        m = self.momentum(s)
        (x,) = mix(s.x - self.eta[t] * m)
        v = grad(x, t + 1)
        return State(x, m, v, v)
