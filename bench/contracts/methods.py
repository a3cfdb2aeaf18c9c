"""What every method must keep, whatever it computes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.contracts.simulate import Gradient, simulate
from bench.contracts.worlds import (
    ALONE,
    DIMENSION,
    KINDS,
    NODES,
    STEPS,
    BrokenPromise,
    network,
    quadratics,
    ring,
    start,
)
from bench.method.algorithm import Algorithm, Declaration, Grad, Mix
from bench.method.schedules import stepsize_tables
from bench.network.mixing import build_mixing


def shapes(cls: type[Algorithm]) -> None:
    """states are named tuples of (R, k, …) tensors of the start's dtype, with x as given"""
    for dtype, steps in itertools.product(
        (torch.float64, torch.float32), (0, 1, 3)
    ):  # the first fault, not what follows
        x = start(2, dtype=dtype)
        for t, state in enumerate(simulate(cls, ring().to(dtype), quadratics(), x, steps).states):
            if not hasattr(state, "_fields") or "x" not in state._fields:
                raise BrokenPromise(f"the state after step {t} is no NamedTuple with a field x but {type(state)}")
            for name, value in state._asdict().items():
                if value.shape[:2] != x.shape[:2] or (name == "x" and value.shape != x.shape):
                    raise BrokenPromise(
                        f"state {name} has the wrong shape {tuple(value.shape)} after step {t}; x is {tuple(x.shape)}"
                    )
                if value.dtype != dtype:
                    raise BrokenPromise(f"state {name} is {value.dtype} after step {t} of a {dtype} run")
            if t == 0 and not torch.equal(state.x, x):
                raise BrokenPromise("start changes x: the state after 0 steps must hold the x it was given")


def nothing_in_place(cls: type[Algorithm]) -> None:
    """states, gradients and mixed tensors are never modified in place"""
    seen: list[tuple[str, Tensor, Tensor]] = []

    def watch(what: str, *values: Tensor) -> None:
        seen.extend((what, value, value.clone()) for value in values)

    class Watched(cls):  # type: ignore[valid-type, misc]
        def begin(self, x: Tensor, grad: Grad, mix: Mix) -> Any:
            watch("the start x", x)
            return super().begin(x, grad, mix)

        def step(self, s: Any, t: int, grad: Grad, mix: Mix) -> Any:
            for name, value in s._asdict().items():
                watch(f"state {name} after step {t}", value)
            return super().step(s, t, grad, mix)

    plain = quadratics()

    def gradient(x: Tensor, s: int, stream: int) -> Tensor:
        g = plain(x, s, stream)
        watch(f"the gradient on sample {s}", g)
        return g

    def heard(given: tuple[Tensor, ...], mixed: tuple[Tensor, ...]) -> None:
        watch("a tensor given to mix", *given)
        watch("a tensor returned by mix", *mixed)

    simulate(Watched, ring(), gradient, start(), STEPS, heard=heard)
    for what, value, before in seen:
        if not torch.equal(value, before):
            raise BrokenPromise(f"{what} was modified in place")


def no_memory(cls: type[Algorithm]) -> None:
    """a step depends on its state and t alone, so an interrupted run can go on"""
    w, gradient = ring(), quadratics()
    whole = simulate(cls, w, gradient, start(), STEPS)

    class Resumed(cls):  # type: ignore[valid-type, misc]
        def begin(self, x: Tensor, grad: Grad, mix: Mix) -> Any:
            return whole.states[5]

        def step(self, s: Any, t: int, grad: Grad, mix: Mix) -> Any:
            return super().step(s, t, grad, mix) if t >= 5 else s

    resumed = simulate(Resumed, w, gradient, start(), STEPS)
    if not torch.equal(resumed.states[-1].x, whole.states[-1].x):
        raise BrokenPromise("continuing from the state after step 5 gives another result: something is kept outside it")


def counts(cls: type[Algorithm]) -> None:
    """what is sent, rounds, samples and gradients are as declared"""
    promise = cls.declare_for({})
    chance = any(float(cost) != int(cost) for cost in (promise.sends, promise.scalars, promise.rounds))
    steps = 100 * STEPS if chance else STEPS
    trace = simulate(cls, ring(), quadratics(), start(), steps)
    sent = [[sum(tensor.shape[-1] for tensor in call) for call in calls] for calls in trace.sent]
    began = (len(sent[0]), len(trace.samples[0]))
    if began != (promise.start_rounds, promise.start_samples):
        raise BrokenPromise(
            f"start calls mix {began[0]} times and uses {began[1]} samples; declared start_rounds="
            f"{promise.start_rounds}, start_samples={promise.start_samples}"
        )
    drawn = len(set().union(*trace.samples))
    if drawn != promise.start_samples + promise.samples * steps:
        raise BrokenPromise(f"{steps} steps use {drawn} samples; declared samples={promise.samples} a step")
    for what, counted, declared in (
        ("gradients", trace.gradients[1:], promise.gradients),
        ("numbers", [sum(calls) for calls in sent[1:]], promise.sends * DIMENSION + promise.scalars),
        ("rounds", [len(calls) for calls in sent[1:]], promise.rounds),
    ):
        if chance and what != "gradients":
            mean = sum(counted) / steps
            if abs(mean - declared) > 0.1 * declared:
                raise BrokenPromise(f"a step has {mean:.3g} {what} on average; declared are {declared:g}")
            continue
        for t, count in enumerate(counted):
            if count != declared:
                raise BrokenPromise(_counted(what, t, count, promise))


def _counted(what: str, t: int, count: int, promise: Declaration) -> str:
    if what == "numbers":
        beside = f" and scalars={promise.scalars:g}" if promise.scalars else ""
        return f"step {t} sends {count / DIMENSION:g} vectors; declared sends={promise.sends:g}{beside}"
    if what == "rounds":
        return f"step {t} calls mix {count} times; declared rounds={promise.rounds:g}"
    return f"step {t} evaluates {count} gradients; declared gradients={promise.gradients}"


def network_use(cls: type[Algorithm]) -> None:
    """of the network it uses what it declares: mixes, pushes or pulls, and compresses"""
    promise, trace = cls.declare_for({}), simulate(cls, ring(), quadratics(), start(), STEPS)
    allowed = set(USES[promise.mixes]) | ({"compressed"} if promise.compresses != "no" else set())
    for t, calls in enumerate(trace.calls):
        for call in calls:
            if call not in allowed:
                said = f"mixes='{promise.mixes}', compresses='{promise.compresses}'"
                raise BrokenPromise(f"{'start' if t == 0 else f'step {t - 1}'} calls {call}; declared is {said}")
    used = {call for calls in trace.calls for call in calls}
    if promise.compresses != "no" and "compressed" not in used:
        raise BrokenPromise(f"compresses='{promise.compresses}' is declared, and mix.compressed is never called")


USES = {
    "doubly": ("mix",),
    "push": ("push",),
    "pull": ("pull",),
    "push and pull": ("push", "pull", "push_pull"),
}
"""The calls that go with what a method declares to mix by."""


def rounding(cls: type[Algorithm]) -> None:
    """unless declared ``double``: where nothing is to be learnt, float32 does not carry the nodes away"""
    if cls.declare_for({}).double:
        return
    x = (FAR + start()[:, :1]).expand(-1, NODES, -1).float()
    trace = simulate(cls, ring().float(), lambda x, s, stream: torch.zeros_like(x), x, LONG, keep=False)
    drift = ((trace.states[-1].x - x).abs().max() / x.abs().max()).item()
    if not drift <= LONG * torch.finfo(torch.float32).eps * 4:
        raise BrokenPromise(
            f"rounding errors add up twice over: {LONG} float32 steps without a gradient move x by {drift:.1e} of "
            "itself. Write the rule so that they do not, or declare double=True"
        )


FAR = 100.0
"""Where the nodes stand meanwhile, all together: far from 0, so that what they share is rounded much."""
LONG = 2000
"""Steps after which errors that add up twice stand out."""


def states(cls: type[Algorithm]) -> None:
    """states that are said to estimate, track, average, report or sum to zero exist, and do"""
    w, pull = network(cls)
    trace, promise = simulate(cls, w, quadratics(), start(), STEPS, pull=pull), cls.declare_for({})
    there = trace.states[0]._fields
    named = {"estimates": promise.estimates, "averages": promise.averages, "report": promise.report}
    for word, name in [
        *named.items(),
        *(("zero_sum", name) for name in promise.zero_sum),
        *(("tracks", name) for pair in promise.tracks.items() for name in pair),
    ]:
        if name is not None and name not in there:
            raise BrokenPromise(f"{word}='{name}', but the state has only {', '.join(there)}")
    for t, state in enumerate(trace.states):
        for tracker, tracked in promise.tracks.items():
            off = (getattr(state, tracker).mean(1) - getattr(state, tracked).mean(1)).abs().max().item()
            if off > 1e-12:
                raise BrokenPromise(
                    f"the tracker loses what it tracks: |mean {tracker} − mean {tracked}| = {off:.2g} after step {t}"
                )
        for name in promise.zero_sum:
            value = getattr(state, name)
            off = (value.sum(1).abs().max() / value.abs().max().clamp_min(1e-300)).item()
            if off > 1e-12:
                raise BrokenPromise(f"{name} does not sum to zero: {off:.2g} of its largest entry after step {t}")


def permutation(cls: type[Algorithm]) -> None:
    """renaming the nodes renames the trajectory"""
    (w, pull), gradient, x = network(cls), quadratics(), start()
    order = torch.tensor([3, 0, 4, 1, 5, 2])
    back = order.argsort()
    ours = simulate(cls, w, gradient, x, STEPS, pull=pull).x()

    def renamed(x: Tensor, s: int, stream: int) -> Tensor:
        return gradient(x[:, back], s, stream)[:, order]

    w, pull = network(cls).renamed(order)
    theirs = simulate(cls, w, renamed, x[:, order], STEPS, pull=pull).x()
    _equal(ours[:, :, order], theirs, "permuting the nodes changes more than their order")


def locality(cls: type[Algorithm]) -> None:
    """nodes learn of each other through mix alone: what one does, a stranger cannot feel"""
    gradient, x = quadratics(), start()

    def louder(x: Tensor, s: int, stream: int) -> Tensor:
        g = gradient(x, s, stream).clone()
        g[:, 0] *= 7
        return g

    apart = torch.eye(NODES, dtype=torch.float64)
    quiet = simulate(cls, apart, gradient, x, STEPS).x()
    loud = simulate(cls, apart, louder, x, STEPS).x()
    _equal(quiet[:, :, 1:], loud[:, :, 1:], "with W = I a node still feels another node's gradient")


def replicas(cls: type[Algorithm]) -> None:
    """R replicas with stepsizes and graphs of their own are R separate runs"""
    gradient, x = quadratics(), start(3)
    known = {**cls.stepsize_options(), **cls.structure_options()}
    numbers = {k: o.default for k, o in known.items() if o.is_number}
    options: list[dict[str, Any]] = [
        {"schedule": "fixed"},
        {"schedule": "diminishing"},
        {k: v / 2 for k, v in numbers.items()},
    ]
    w = torch.stack([ring(), torch.full((NODES, NODES), 1 / NODES, dtype=torch.float64), ring() @ ring()])
    together = simulate(cls, w, gradient, x, STEPS, options).x()
    for r in range(3):
        alone = simulate(cls, w[r], gradient, x[r : r + 1], STEPS, options[r], seeds=[r]).x()
        _equal(together[:, r : r + 1], alone, f"replica {r} of 3 differs from the same run alone")


def one_node(cls: type[Algorithm]) -> None:
    """a network of one node works, and stays finite"""
    x = simulate(cls, torch.ones(1, 1, dtype=torch.float64), quadratics(1), start(nodes=1), STEPS).x()
    if not torch.isfinite(x).all():
        raise BrokenPromise("with a single node the iterates are not finite")


def bound(cls: type[Algorithm]) -> None:
    """where declared ``bounded``: consensus never exceeds b², b⁺ = ρ (b + η_t)"""
    if not cls.declare_for({}).bounded:
        return
    mixing = build_mixing("ring", NODES, lazy=True)
    rho = mixing.certificate.rho or 0.0
    slowest = torch.as_tensor(np.linalg.eigh(mixing.matrices[0])[1][:, -2:-1].copy())

    def tug(x: Tensor, s: int, stream: int) -> Tensor:
        """Pulls the nodes apart in the direction that mixing evens out last: here the bound is tight."""
        return slowest.expand_as(x)

    for gradient in (tug, quadratics()):
        x = torch.zeros(1, NODES, DIMENSION, dtype=torch.float64)
        trace = simulate(cls, torch.as_tensor(mixing.matrices[0]), gradient, x, STEPS)
        b = 0.0
        for t, (state, eta) in enumerate(zip(trace.states, [*_eta(cls, STEPS), 0.0], strict=True)):
            consensus = (state.x - state.x.mean(1, keepdim=True)).square().sum().item() / NODES
            if consensus > b**2 * (1 + 1e-12) + 1e-28:
                raise BrokenPromise(f"consensus {consensus:.3g} after step {t} exceeds the bound {b**2:.3g}")
            b = rho * (b + eta)


def one_voice(cls: type[Algorithm]) -> None:
    """nodes with one start and one gradient stay together, and do what one of them alone would"""
    x, g = start()[:, :1], quadratics(1)
    for kind in KINDS:
        one = simulate(cls, ALONE, g, x, STEPS, {"schedule": kind}, schedule_nodes=NODES, known=ring()).x()
        many = simulate(cls, ring(), _echo(g), x.expand(-1, NODES, -1), STEPS, {"schedule": kind}).x()
        _equal(many, one.expand_as(many), f"nodes that agree do not do what one alone does (schedule {kind})")


def pooled(cls: type[Algorithm]) -> None:
    """where declared ``pooled``: on the complete graph, the mean does what one node that knows f would"""
    if not cls.declare_for({}).pooled:
        return
    everyone, g = torch.full((NODES, NODES), 1 / NODES, dtype=torch.float64), quadratics()
    x = start()[:, :1]

    def central(x: Tensor, s: int, stream: int) -> Tensor:
        return g(x.expand(-1, NODES, -1), s, stream).mean(1, keepdim=True)

    for kind in KINDS:
        one = simulate(cls, ALONE, central, x, STEPS, {"schedule": kind}, schedule_nodes=NODES).x()
        many = simulate(cls, everyone, g, x.expand(-1, NODES, -1), STEPS, {"schedule": kind}).x()
        _equal(many.mean(2), one[:, :, 0], f"on the complete graph the mean does something else (schedule {kind})")


def scale(cls: type[Algorithm]) -> None:
    """where declared ``scale_free``: c·f for f changes no bit, for every power of two"""
    if not cls.declare_for({}).scale_free:
        return
    (w, pull), g, x = network(cls), quadratics(), start()
    for kind in KINDS:
        ours = simulate(cls, w, g, x, STEPS, {"schedule": kind}, pull=pull).x()
        for power in (-40, -1, 3, 40):
            c = 2.0**power
            scaled = simulate(cls, w, _times(g, c), x, STEPS, {"schedule": kind}, pull=pull).x()
            if not torch.equal(ours, scaled):
                off = ((ours - scaled).abs().max() / ours.abs().max()).item()
                raise BrokenPromise(f"2^{power}·f gives another trajectory than f, by {off:.2g} (schedule {kind})")


def _times(gradient: Gradient, c: float) -> Gradient:
    return lambda x, s, stream: c * gradient(x, s, stream)


def _echo(gradient: Gradient) -> Gradient:
    """Every node the same function."""
    return lambda x, s, stream: torch.cat([gradient(part, s, stream) for part in x.split(1, dim=1)], dim=1)


def _eta(cls: type[Algorithm], steps: int) -> list[float]:
    defaults = {k: o.default for k, o in cls.stepsize_options().items()}
    return stepsize_tables(cls.stepsizes, [defaults], NODES, steps, torch.float64)["eta"].values[:, 0].tolist()


def _equal(a: Tensor, b: Tensor, sentence: str) -> None:
    off = ((a - b).abs().max() / a.abs().max().clamp_min(1e-300)).item()
    if not off <= 1e-12:
        raise BrokenPromise(f"{sentence} (relative difference {off:.2g})")


CHECKS: tuple[Callable[[type[Algorithm]], None], ...] = (
    shapes,
    nothing_in_place,
    no_memory,
    counts,
    network_use,
    rounding,
    states,
    permutation,
    locality,
    replicas,
    one_node,
    one_voice,
    bound,
    pooled,
    scale,
)
