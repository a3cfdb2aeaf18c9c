"""Autostep GT: gradient tracking whose nodes set their own stepsizes, for exact gradients."""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.base.options import Count, Positive
from bench.method import Algorithm, Grad, Mix, Properties, Steps, algorithm
from bench.method.gossip import repeatedly
from bench.method.schedules import Schedule


class State(NamedTuple):
    x: Tensor
    y: Tensor  # tracks the average gradient: ȳ = v̄
    v: Tensor  # own gradient
    step: Tensor  # η, stepsize of each node, a scalar
    before: Tensor  # η of the step before


@algorithm(
    "autostep_gt",
    label="Autostep GT",
    family="gt",
    vectors_per_step=2,
    rounds=2,
    start_samples=1,
    estimates="y",
    tracks={"y": "v"},
    centralized_equivalent=True,
    exact=True,
    cite="Chen, Wang 2025, Automating Stepsizes for Decentralized Optimization and Learning with Geometric Convergence,"
    " Algorithm 2",
    source="authors' code (README of github.com/cziqin/Automated_Stepsizes, commit 05c9387; its files divide by "
    "‖Y⁺ − Y‖ without the 2)",
    provenance="code",
)
class AutostepGT(Algorithm):
    """Estimate the curvature from the last two iterates and trackers, and set the stepsize of each node by it.

    X⁺ = W^K (X − η Y),  V⁺ = G(X⁺),  Y⁺ = W^K (Y + V⁺ − V);  Y⁰ = V⁰ = G(X⁰),  η⁰ = η¹ = ε
    η⁺ = min(√(1 + η/η₋) η, ‖X⁺ − X‖/(2‖Y⁺ − Y‖)) of each node; η⁺ = η where X or Y does not change
    """

    rounds: Count = 1
    epsilon: Positive = 1e-6
    adapts: Schedule  # 0 in the first step, then 1

    @staticmethod
    def stepsizes(at: Steps) -> dict[str, Any]:
        """No stepsizes: the schedule has no effect."""
        return {"adapts": (at.t > 0).astype(float)}

    @classmethod
    def declare(cls, *, rounds: int, **others: Any) -> Properties:
        return replace(cls.properties, vectors_per_step=2 * rounds, rounds=2 * rounds)

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        v = grad(x, 0)
        step = torch.zeros_like(x[..., :1]) + self.epsilon
        return State(x, v, v, step, step)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        x = repeatedly(mix, s.x - s.step * s.y, self.rounds)
        v = grad(x, t + 1)
        y = repeatedly(mix, s.y + v - s.v, self.rounds)
        moved, turned = (torch.linalg.vector_norm(d, dim=-1, keepdim=True) for d in (x - s.x, y - s.y))
        step = torch.minimum((1 + s.step / s.before).sqrt() * s.step, moved / (2 * turned))
        adapts = (self.adapts[t] > 0) & (moved > 0) & (turned > 0)
        return State(x, y, v, torch.where(adapts, step, s.step), s.step)
