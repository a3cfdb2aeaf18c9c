"""SGP and Push-DIGing: U⁺ = A (U − η G(X)), w⁺ = A w, X⁺ = U⁺ / w⁺;  Push-Pull"""

from bench.base.registry import algorithms
from tests.bench.contracts.mutants.table import mutant

SGP, PUSH_DIGING, PUSH_PULL = (algorithms[name] for name in ("sgp", "push_diging", "push_pull"))


@mutant
class GradientAtMass(SGP):
    """G(U) in the place of G(X)."""

    def step(self, s, t, grad, mix):
        return super().step(s, t, lambda x, number: grad(s.u, number), mix)


@mutant
class NeverDivides(SGP):
    """X⁺ = U⁺."""

    def step(self, s, t, grad, mix):
        new = super().step(s, t, grad, mix)
        return new._replace(x=new.u)


@mutant
class WeightUnpushed(SGP):
    def step(self, s, t, grad, mix):
        new = super().step(s, t, grad, mix)
        return new._replace(x=new.u / s.w, w=s.w)


@mutant
class TrackerAtMass(PUSH_DIGING):
    """V⁺ = G(U⁺) in the place of G(X⁺)."""

    def step(self, s, t, grad, mix):
        u, w, y = mix.push(s.u - self.eta[t] * s.y, s.w, s.y)
        v = grad(u, t + 1)
        return s._replace(x=u / w, u=u, w=w, y=y + v - s.v, v=v)


@mutant
class StepAfterPulling(PUSH_PULL):
    """X⁺ = R X − η Y."""

    def step(self, s, t, grad, mix):
        (y,), (x,) = mix.push_pull(push=(s.y,), pull=(s.x,))
        x = x - self.eta[t] * s.y
        v = grad(x, t + 1)
        return s._replace(x=x, y=y + v - s.v, v=v)
