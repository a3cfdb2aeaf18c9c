"""What an author of a new method may get wrong in its code. The method: tracking with momentum."""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from bench.method.algorithm import Algorithm
from bench.method.properties import Properties


class State(NamedTuple):
    x: Tensor
    m: Tensor
    y: Tensor
    v: Tensor


class Right(Algorithm):
    """M⁺ = β M + (1−β) Y,  X⁺ = W (X − η_t M⁺),  Y⁺ = W (Y + G(X⁺) − G(X));  Y⁰ = G(X⁰), M⁰ = 0"""

    properties = Properties(
        name="right",
        vectors_per_step=2,
        rounds=2,
        start_samples=1,
        needs=("smoothness", "topology"),
        estimates="y",
        tracks={"y": "v"},
        centralized_equivalent=True,
        cite="nobody",
        label="right",
        family="right",
    )
    beta: float = 0.5

    def start(self, x, grad, mix):
        v = grad(x, 0)
        return State(x, torch.zeros_like(x), v, v)

    def step(self, s, t, grad, mix):
        m = self.momentum(s)
        (x,) = mix(self.moved(s.x, m, t))
        v = grad(x, t + 1)
        (y,) = mix(s.y + v - s.v)
        return State(x, m, y, v)

    def momentum(self, s):
        return self.beta * s.m + (1 - self.beta) * s.y

    def moved(self, x, m, t):
        return x - self.eta[t] * m


class Scaled(Right):
    """Divides its step by something of its own."""

    def moved(self, x, m, t):
        return x - self.eta[t] * m / self.size(m)

    def size(self, m):
        return 1 + m.norm(dim=-1, keepdim=True)


class OverAllNodes(Scaled):
    def size(self, m):
        return 1 + m.flatten(1).norm(dim=-1)[:, None, None]


class OverAllReplicas(Scaled):
    def size(self, m):
        return 1 + m.norm(dim=0, keepdim=True).norm(dim=-1, keepdim=True)


class ForgetsTheStepsize(Right):
    def moved(self, x, m, t):
        return x - 0.01 * m


class StepsizeOnXToo(Right):
    """η_t (X − M⁺), a parenthesis too late."""

    def moved(self, x, m, t):
        return x - self.eta[t] * (x - m)


class MomentumGrows(Right):
    def momentum(self, s):
        return (1 + self.beta) * s.m + s.y


class MomentumNotKept(Right):
    def step(self, s, t, grad, mix):
        return super().step(s, t, grad, mix)._replace(m=s.m)


class WrongSign(Right):
    def momentum(self, s):
        return self.beta * s.m - (1 - self.beta) * s.y


class ForgetsToMix(Right):
    def step(self, s, t, grad, mix):
        m = self.momentum(s)
        x = s.x - self.eta[t] * m
        v = grad(x, t + 1)
        (y,) = mix(s.y + v - s.v)
        return State(x, m, y, v)


class ForgetsToMixAndSaysSo(ForgetsToMix):
    properties = replace(Right.properties, vectors_per_step=1, rounds=1)


class KeepsWhatItSent(Right):
    def step(self, s, t, grad, mix):
        new = super().step(s, t, grad, mix)
        return new._replace(y=s.y + new.v - s.v)


class OwnGradient(Right):
    """Momentum of V in the place of Y: the tracker is sent, and not used."""

    def momentum(self, s):
        return self.beta * s.m + (1 - self.beta) * s.v


class TrackerOfTheWrongSign(Right):
    def step(self, s, t, grad, mix):
        m = self.momentum(s)
        (x,) = mix(s.x - self.eta[t] * m)
        v = grad(x, t + 1)
        (y,) = mix(s.y - v + s.v)
        return State(x, m, y, v)


class GlobalMemory(Right):
    kept: dict = {}  # noqa: RUF012

    def momentum(self, s):
        self.kept["m"] = m = super().momentum(s._replace(m=self.kept.get("m", s.m).expand_as(s.m)))
        return m


class InPlace(Right):
    def momentum(self, s):
        return s.m.mul_(self.beta).add_((1 - self.beta) * s.y)


class Single(Right):
    def step(self, s, t, grad, mix):
        return State(*(part.float() for part in super().step(s, t, grad, mix)))


class RandomOfItsOwn(Right):
    def momentum(self, s):
        return super().momentum(s) * (1 + 0.1 * torch.rand(s.m.shape, dtype=s.m.dtype))


class CountsItsNeighbors(Right):
    """Takes the nodes that this process hosts for all."""

    def momentum(self, s):
        return super().momentum(s) * s.x.shape[1] / 10


class FirstNodeIsSpecial(Right):
    def momentum(self, s):
        m = super().momentum(s)
        return torch.cat([2 * m[:, :1], m[:, 1:]], dim=1)


class DecaysToZero(Right):
    """Weight decay that nobody asked for."""

    def step(self, s, t, grad, mix):
        return super().step(s._replace(x=0.99 * s.x), t, grad, mix)


class ExtraMessage(Right):
    properties = replace(Right.properties, vectors_per_step=3)

    def step(self, s, t, grad, mix):
        m = self.momentum(s)
        x, _ = mix(s.x - self.eta[t] * m, m)
        v = grad(x, t + 1)
        (y,) = mix(s.y + v - s.v)
        return State(x, m, y, v)


class ExtraGradient(Right):
    properties = replace(Right.properties, gradients=2)

    def step(self, s, t, grad, mix):
        grad(s.x, t + 1)
        return super().step(s, t, grad, mix)


class HiddenSnapshot(Right):
    """Keeps the momentum of every fifth step on self, which a checkpoint does not store."""

    def step(self, s, t, grad, mix):
        if t % 5 == 0:
            self.snapshot = s.m
        return super().step(s._replace(m=0.5 * s.m + 0.5 * self.snapshot), t, grad, mix)
