"""Checks of shapes, side effects, costs and declared states."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from bench.base.authors import flaw
from bench.contracts.fixtures import (
    DIMENSION,
    NODES,
    STEPS,
    Malformed,
    applies_to,
    must,
    network,
    quadratics,
    ring,
    start,
)
from bench.contracts.simulate import simulate
from bench.method import Algorithm, Grad, Mix
from bench.network.compressor import Compressor

RESUMED = (3, 5)
"""Steps to resume from. A method that renews a hidden value every few steps can hide it from one of them."""


def shapes(cls: type[Algorithm]) -> None:
    """states are named tuples of (R, k, …) tensors of the dtype of x; start keeps x"""
    lengths = (0, 1, 3)  # report the first faulty step
    for dtype, steps in itertools.product((torch.float64, torch.float32), lengths):
        x = start(2, dtype=dtype)
        for t, state in enumerate(simulate(cls, ring().to(dtype), quadratics(), x, steps).states):
            if wrong := flaw(state, x.shape, t):
                raise Malformed(wrong)
            for name, value in state._asdict().items():
                must(value.dtype == dtype, f"state {name} is {value.dtype} after step {t} of a {dtype} run")
            kept = t > 0 or torch.equal(state.x, x)
            must(kept, "start changes x: the state after 0 steps must contain the given x")


def nothing_in_place(cls: type[Algorithm]) -> None:
    """states, gradients and mixed tensors are never modified in place"""
    seen: list[tuple[str, Tensor, Tensor]] = []

    def watch(what: str, *values: Tensor) -> None:
        seen.extend((what, value, value.clone()) for value in values)

    class Watched(cls):  # type: ignore[valid-type, misc]
        def start(self, x: Tensor, grad: Grad, mix: Mix) -> Any:
            watch("the start x", x)
            return super().start(x, grad, mix)

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
        must(torch.equal(value, before), f"{what} was modified in place")


def no_memory(cls: type[Algorithm]) -> None:
    """a step depends only on its state and t, so that runs can resume"""
    w, gradient = ring(), quadratics()
    whole = simulate(cls, w, gradient, start(), STEPS)

    for first in RESUMED:

        class Resumed(cls):  # type: ignore[valid-type, misc]
            _first = first

            def start(self, x: Tensor, grad: Grad, mix: Mix) -> Any:
                return whole.states[self._first]

            def step(self, s: Any, t: int, grad: Grad, mix: Mix) -> Any:
                return super().step(s, t, grad, mix) if t >= self._first else s

        resumed = simulate(Resumed, w, gradient, start(), STEPS)
        same = torch.equal(resumed.states[-1].x, whole.states[-1].x)
        words = f"resuming from the state after step {first} gives another result"
        must(same, f"{words}: the method keeps values outside its state, or draws with torch.rand or np.random")


def counts(cls: type[Algorithm]) -> None:
    """vectors sent, rounds, samples and gradients equal the declared costs"""
    properties = cls.declare_for({})
    chance = any(
        float(cost) != int(cost)
        for cost in (properties.vectors_per_step, properties.scalars_per_step, properties.rounds)
    )
    steps = 100 * STEPS if chance else STEPS
    trace = simulate(cls, ring(), quadratics(), start(), steps)
    sent = [[sum(tensor.shape[-1] for tensor in call) for call in calls] for calls in trace.sent]
    began = (len(sent[0]), len(trace.samples[0]))
    declared = f"start_rounds={properties.start_rounds}, start_samples={properties.start_samples}"
    must(
        began == (properties.start_rounds, properties.start_samples),
        f"start calls mix {began[0]} times and uses {began[1]} samples; declared {declared}",
    )
    drawn = len(set().union(*trace.samples))
    must(
        drawn == properties.start_samples + properties.samples * steps,
        f"{steps} steps use {drawn} samples; declared samples={properties.samples} a step",
    )
    for t, used in enumerate(trace.samples[1:] if properties.estimates else ()):
        must(
            len(used) == properties.samples,
            f"step {t} evaluates gradients on {len(used)} samples, {sorted(s for _, s in used)}; declared "
            f"samples={properties.samples}. Gradients whose difference is used must share one sample",
        )
    _must_count("evaluates {:g} gradients", trace.gradients[1:], properties.gradients, "gradients={:g}")
    vectors = properties.vectors_per_step + properties.scalars_per_step / DIMENSION
    word = "vectors_per_step={:g}" + f" of {DIMENSION} numbers, with scalars" * (properties.scalars_per_step > 0)
    _must_count("sends {:g} vectors", [sum(calls) / DIMENSION for calls in sent[1:]], vectors, word, chance)
    _must_count("calls mix {:g} times", [len(calls) for calls in sent[1:]], properties.rounds, "rounds={:g}", chance)


def _must_count(does: str, counted: Sequence[float], declared: float, word: str, chance: bool = False) -> None:
    """Require the declared cost of every step, or of the average step if a coin (``chance``) decides."""
    if chance:
        mean = sum(counted) / len(counted)
        average = f"a step {does.format(mean)} on average; declared {word.format(declared)}"
        must(abs(mean - declared) <= 0.1 * declared, average)
    for t, count in enumerate(() if chance else counted):
        must(count == declared, f"step {t} {does.format(count)}; declared {word.format(declared)}")


def states(cls: type[Algorithm]) -> None:
    """estimates, tracks, averages, report and zero_sum name states with these properties"""
    must_keep_invariants(cls)


def must_keep_invariants(cls: type[Algorithm], compressor: Compressor | None = None) -> None:
    w, pull = network(cls)
    trace = simulate(cls, w, quadratics(), start(), STEPS, pull=pull, compressor=compressor)
    properties = cls.declare_for({})
    fields = trace.states[0]._fields
    named = {"estimates": properties.estimates, "averages": properties.averages, "report": properties.report}
    for word, name in [
        *named.items(),
        *(("zero_sum", name) for name in properties.zero_sum),
        *(("tracks", name) for pair in properties.tracks.items() for name in pair),
    ]:
        must(name is None or name in fields, f"{word}='{name}', but the state has only {', '.join(fields)}")
    for t, state in enumerate(trace.states):
        for tracker, tracked in properties.tracks.items():
            off = (getattr(state, tracker).mean(1) - getattr(state, tracked).mean(1)).abs().max().item()
            must(off <= 1e-12, f"tracks is violated: |mean {tracker} − mean {tracked}| = {off:.2g} after step {t}")
        for name in properties.zero_sum:
            value = getattr(state, name)
            off = (value.sum(1).abs().max() / value.abs().max().clamp_min(1e-300)).item()
            must(off <= 1e-12, f"{name} does not sum to zero: {off:.2g} of its largest entry after step {t}")


@applies_to(lambda properties: not properties.requires_float64)
def rounding(cls: type[Algorithm]) -> None:
    """unless requires_float64: without gradients, rounding errors in float32 do not move the nodes"""
    x = (FAR + start()[:, :1]).expand(-1, NODES, -1).float()
    trace = simulate(cls, ring().float(), lambda x, s, stream: torch.zeros_like(x), x, LONG, keep=False)
    drift = ((trace.states[-1].x - x).abs().max() / x.abs().max()).item()
    must(
        drift <= LONG * torch.finfo(torch.float32).eps * 4,
        f"rounding errors accumulate quadratically: {LONG} float32 steps without gradients change x by {drift:.1e} "
        "(relative). Rewrite the update, or declare requires_float64=True",
    )


FAR = 100.0
"""The initial point of all nodes, far from 0 so that rounding errors are large."""
LONG = 2000
"""Steps after which a quadratic accumulation of errors is visible."""
