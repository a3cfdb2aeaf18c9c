"""Checks of descent, limits, stepsizes and equivalence to a centralized method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from bench.contracts.fixtures import (
    ALONE,
    CONSTANT,
    DIMENSION,
    KINDS,
    NODES,
    SKIP,
    STEPS,
    applies_to,
    equal,
    has_stepsize,
    must,
    network,
    quadratics,
    run_close,
    start,
    stepsizes,
)
from bench.contracts.simulate import Gradient, simulate
from bench.method.algorithm import Algorithm
from bench.network.compressor import Compressor


@applies_to(lambda properties: properties.gradients)
def descent(cls: type[Algorithm]) -> None:
    """with exact gradients of one shared f and small stepsizes, f decreases and never increases"""
    f = quadratics(1, noise=0)
    trace = run_close(cls, f, start()[:, :1].expand(len(SMALL), NODES, -1), LONG, eta=SMALL)
    values = torch.stack([_value(f, state.x.mean(1, keepdim=True)) for state in trace.states])  # (steps + 1, stepsizes)
    ends, rises = values[-1] - values[0], values.diff(dim=0).amax(0)
    kept, best = (ends < 0) & (rises <= 1e-12 * values[0]), int(ends.argmin())
    went = f"{values[0, best]:.4g} to {values[-1, best]:.4g}"
    rose = f"rises by up to {rises[best]:.2g} in one{_by(cls, SMALL, best)}"
    must(kept.any(), f"{LONG} steps change f from {went}, and f {rose}")


def _by(cls: type[Algorithm], stepsizes: Sequence[float], best: int) -> str:
    return f" with η = {stepsizes[best]:g}, the best of {len(stepsizes)}" if has_stepsize(cls) else ""


SMALL, LONG = (1e-2, 1e-3, 1e-4, 1e-5), 40
"""Stepsizes, one of which must work, and steps. Momentum and local steps enlarge the effective stepsize."""


def _value(f: Gradient, x: Tensor) -> Tensor:
    """Return f(x) minus its minimum, from the gradient of a separable quadratic."""
    zero = torch.zeros_like(x)
    slope = f(zero + 1, 0, 0) - f(zero, 0, 0)  # of each coordinate
    return (f(x, 0, 0).square() / slope).sum((1, 2)) / 2


@applies_to(lambda properties: properties.estimates)
def estimate(cls: type[Algorithm]) -> str | None:
    """if estimates: at a fixed x, the estimate stays within the range of 0 and the gradients, and amplifies no noise"""
    if not has_stepsize(cls):
        return SKIP
    f, x = quadratics(1), start(nodes=1)
    seen = [torch.zeros_like(x)]

    def gradient(x: Tensor, s: int, stream: int) -> Tensor:
        seen.append(f(x, s, stream))
        return seen[-1]

    name = cls.declare_for({}).estimates or ""
    trace = simulate(cls, ALONE, gradient, x, STEPS, CONSTANT, eta=[0.0])
    gradients, values = torch.stack(seen), torch.stack([getattr(state, name) for state in trace.states])
    over = torch.maximum(values - gradients.amax(0), gradients.amin(0) - values).max().item()
    must(over <= 1e-12, f"with η = 0, state {name} leaves the range of the gradients by {over:.2g}")
    return None


def rest(cls: type[Algorithm]) -> None:
    """nodes that all start at the minimizer of one shared f stay there"""
    (w, pull), f = network(cls), quadratics(1, noise=0)
    minimizer = _minimizer(f)[:, None].expand(-1, NODES, -1)

    def gradient(x: Tensor, s: int, stream: int) -> Tensor:
        """Return exactly 0 close to the minimizer, because normalized methods enlarge rounding errors."""
        return torch.where((x - minimizer).abs() <= AT_REST, 0.0, f(x, s, stream))

    trace = simulate(cls, w, gradient, minimizer, STEPS, CONSTANT, pull=pull)
    off = (trace.x() - minimizer).abs().max().item()
    must(off <= AT_REST, f"nodes move away from the minimizer of a shared f, by {off:.2g}: is the gradient taken at x?")


AT_REST = 1e-9


def end(cls: type[Algorithm]) -> str | None:
    """with exact gradients of different f_i and a constant stepsize, the limit is the declared fixed_point"""
    return must_reach_fixed_point(cls)


def must_reach_fixed_point(cls: type[Algorithm], compressor: Compressor | None = None) -> str | None:
    properties = cls.declare_for({})
    exact, ladder = properties.fixed_point == "exact", LADDER if has_stepsize(cls) else LADDER[:1]
    if properties.fixed_point == "elsewhere" or properties.gradients == 0 or (not exact and len(ladder) == 1):
        return SKIP
    f = quadratics(noise=0)
    minimizer = _minimizer(f)

    def far(state: Any) -> Tensor:
        """Return the distance of the farthest node to the minimizer, relative to the start, for each stepsize."""
        off = (state.x - minimizer).norm(dim=-1).amax(1) / (x[:, 0] - minimizer).norm(dim=-1)
        return off.nan_to_num(torch.inf).view(STARTS, -1).amax(0)

    x = start(STARTS)[:, :1].repeat_interleave(len(ladder), 0).expand(-1, NODES, -1)
    reached = (lambda state: bool((far(state) <= EXACT).any())) if exact else None
    trace = run_close(cls, f, x, LONG_ENOUGH, eta=ladder * STARTS, keep=False, until=reached, compressor=compressor)
    off = far(trace.states[-1])
    best = int(off.argmin())
    where = f"{LONG_ENOUGH} steps leave {off[best]:.2g} of the distance to the minimizer{_by(cls, ladder, best)}"
    if exact:
        must(
            off[best] <= EXACT,
            f"{where}. If this is intended, declare assumes={{'bounded heterogeneity'}}, or fixed_point='near' if the "
            "limit approaches the minimizer as η shrinks, or 'elsewhere'",
        )
    else:
        must(
            ((off[2:] <= NEAR) & (off[2:] <= 0.6 * off[:-2])).any(),
            f"{where}. If the limit does not approach the minimizer as η shrinks, declare fixed_point='elsewhere'",
        )
    return None


LADDER = tuple(4 / 2**rung for rung in range(13))
EXACT, NEAR, LONG_ENOUGH, STARTS = 1e-7, 0.1, 700, 3
"""Relative distances, steps, and initial points: with one, a method may hit the minimizer by chance."""


def _minimizer(f: Gradient) -> Tensor:
    """Return the minimizer of the mean of the nodes' separable quadratics."""
    zero = torch.zeros(1, NODES, DIMENSION, dtype=torch.float64)
    at_zero = f(zero, 0, 0)
    return -at_zero.mean(1) / (f(zero + 1, 0, 0) - at_zero).mean(1)


@applies_to(lambda properties: not (properties.exact_average or properties.common_start))  # x is common from the start
def average(cls: type[Algorithm]) -> None:
    """with zero gradients, nodes converge to the average of their initial points (pull methods: to a common point)"""
    must_average(cls)


def must_average(cls: type[Algorithm], compressor: Compressor | None = None) -> None:
    x = start()

    def settled(state: Any) -> bool:
        return bool((state.x - state.x.mean(1, keepdim=True)).abs().max() <= SETTLED / 10)

    trace = run_close(cls, _no_gradient, x, LONG_ENOUGH, keep=False, until=settled, compressor=compressor)
    end = trace.states[-1].x
    apart = (end - end.mean(1, keepdim=True)).abs().max().item()
    must(apart <= SETTLED, f"with zero gradients, the nodes differ by {apart:.2g} after {LONG_ENOUGH} steps")
    off = (end.mean(1) - x.mean(1)).abs().max().item()
    elsewhere = f"with zero gradients, the nodes converge to a point {off:.2g} from the mean of the initial points"
    must("pull" in cls.declare_for({}).mixes or off <= SETTLED, elsewhere)


SETTLED = 1e-6


def _no_gradient(x: Tensor, s: int, stream: int) -> Tensor:
    return torch.zeros_like(x)


def stepsize(cls: type[Algorithm]) -> str | None:
    """with eta = 0, gradients do not move x; doubling eta changes the iterates"""
    if not has_stepsize(cls):
        return SKIP
    none, other = (run_close(cls, g, start(), eta=[0.0]) for g in (quadratics(), quadratics(noise=9)))
    equal(none.x(), other.x(), "with η = 0, the iterates depend on the gradients")
    once, twice = (run_close(cls, quadratics(), start(), eta=[eta]) for eta in (0.01, 0.02))
    used = not cls.declare_for({}).gradients or not torch.equal(once.x(), twice.x())
    must(used, "doubling η does not change the iterates. If the method has no stepsize, remove eta from stepsizes")
    return None


@applies_to(lambda properties: properties.centralized_equivalent)
def centralized(cls: type[Algorithm]) -> None:
    """if centralized_equivalent: on the complete graph, the average iterate follows the centralized method"""
    everyone, g = torch.full((NODES, NODES), 1 / NODES, dtype=torch.float64), quadratics()
    x = start()[:, :1]

    def central(x: Tensor, s: int, stream: int) -> Tensor:
        return g(x.expand(-1, NODES, -1), s, stream).mean(1, keepdim=True)

    for kind in KINDS:
        one = simulate(cls, ALONE, central, x, STEPS, {"schedule": kind}, schedule_nodes=NODES).x()
        many = simulate(cls, everyone, g, x.expand(-1, NODES, -1), STEPS, {"schedule": kind}).x()
        equal(many.mean(2), one[:, :, 0], f"on the complete graph, the mean differs from one node (schedule {kind})")
        if cls.declare_for({}).centralized_equivalent == "sgd":
            sgd, eta = [x], stepsizes(cls, STEPS, schedule=kind)["eta"]
            for t in range(STEPS):
                sgd.append(sgd[-1] - eta[t] * central(sgd[-1], t, 0))
            equal(torch.stack(sgd), one, f"on the complete graph, the step is not X − η_t G(X) (schedule {kind})")


@applies_to(lambda properties: properties.scale_free)
def scale(cls: type[Algorithm]) -> None:
    """if scale_free: replacing f by c·f changes no bit, for c a power of two"""
    (w, pull), g, x = network(cls), quadratics(), start()
    for kind in KINDS:
        ours = simulate(cls, w, g, x, STEPS, {"schedule": kind}, pull=pull).x()
        for power in (-40, -1, 3, 40):
            c = 2.0**power
            scaled = simulate(cls, w, _times(g, c), x, STEPS, {"schedule": kind}, pull=pull).x()
            off = ((ours - scaled).abs().max() / ours.abs().max()).item()
            other = f"2^{power}·f changes the trajectory by {off:.2g} (schedule {kind})"
            must(torch.equal(ours, scaled), other)


def _times(gradient: Gradient, c: float) -> Gradient:
    return lambda x, s, stream: c * gradient(x, s, stream)
