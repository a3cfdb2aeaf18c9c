"""Promises of economy: what a method keeps, sends and evaluates, it reads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch import Tensor

from bench.contracts.fixtures import CONSTANT, SKIP, STEPS, CheckFailed, close, must, quadratics, start
from bench.contracts.simulate import Trace, simulate
from bench.method import Algorithm, Grad, Mix

SINCE, UNFELT = 5, 1e-12
"""The step after which a state is changed, and how little is put down to rounding: replicas are computed together."""


def states_read(cls: type[Algorithm]) -> str | None:
    """every state influences the iterates, unless it is declared among diagnostic_states"""
    (w, pull), f, properties = close(cls), quadratics(), cls.declare_for({})
    whole = simulate(cls, w, f, start(), STEPS, CONSTANT, pull=pull)
    state = whole.states[SINCE]
    kept = [name for name in state._fields if name not in ("x", *properties.diagnostic_states)]  # x is what is made
    if not kept:
        return SKIP
    changes = [(name, change) for name in kept for change in CHANGES]

    class Changed(cls):  # type: ignore[valid-type, misc]
        """Goes on from that state, in every replica with one change."""

        def start(self, x: Tensor, grad: Grad, mix: Mix) -> Any:
            parts = {
                name: value.repeat(len(changes), *[1] * (value.ndim - 1)) for name, value in state._asdict().items()
            }
            for r, (name, change) in enumerate(changes):
                parts[name][r] = change(parts[name][r])
            return state._replace(**parts)

        def step(self, s: Any, t: int, grad: Grad, mix: Mix) -> Any:
            return super().step(s, t, grad, mix) if t >= SINCE else s

    x, seeds = start().repeat(len(changes), 1, 1), [0] * len(changes)
    changed = simulate(Changed, w, f, x, STEPS, CONSTANT, pull=pull, seeds=seeds)
    felt = _felt(whole, changed, properties.report)
    for name in kept:
        must(
            any(felt[r] for r, (which, _) in enumerate(changes) if which == name),
            f"state {name} is never read: whatever it is after step {SINCE}, what follows is the same. Leave it out, "
            f"or, if it is only recorded, declare diagnostic_states='{name}'",
        )
    return None


def _some(like: Tensor) -> Tensor:
    return torch.rand(like.shape, generator=torch.Generator().manual_seed(7), dtype=like.dtype)


CHANGES = (torch.zeros_like, lambda value: value + _some(value), lambda value: value * (1 + _some(value)))
"""Of which one must be felt: a greatest value so far does not notice a smaller one."""


def asked_read(cls: type[Algorithm]) -> str | None:
    """every message and every gradient influences the iterates"""
    (w, pull), f, properties = close(cls), quadratics(), cls.declare_for({})
    plain = simulate(cls, w, f, start(), STEPS, CONSTANT, pull=pull)
    messages = [max(sum(map(len, calls)) for calls in part) for part in (plain.sent[:1], plain.sent[1:])]
    gradients = [plain.gradients[0], max(plain.gradients[1:])]
    asked = [
        (what, when, place)
        for what, counts in (("message", messages), ("gradient", gradients))
        for when, count in zip(("the start", "a step"), counts, strict=True)
        for place in range(count)
    ]
    if not asked:
        return SKIP
    now, count = "the start", Counter[str]()

    def answered(what: str, value: Tensor) -> Tensor:
        """The truth, but to the replica whose turn it is."""
        place, count[what] = count[what], count[what] + 1
        if (what, now, place) not in asked:
            return value
        value = value.clone()
        r = asked.index((what, now, place))
        value[r] = CHANGES[-1](value[r])
        return value

    class Watched(cls):  # type: ignore[valid-type, misc]
        def step(self, s: Any, t: int, grad: Grad, mix: Mix) -> Any:
            nonlocal now
            now = "a step"
            count.clear()
            return super().step(s, t, grad, mix)

    changed = simulate(
        Watched,
        w,
        lambda x, s, stream: answered("gradient", f(x, s, stream)),
        start().repeat(len(asked), 1, 1),
        STEPS,
        CONSTANT,
        pull=pull,
        seeds=[0] * len(asked),
        heard=lambda given, mixed: tuple(answered("message", value) for value in mixed),
    )
    felt = _felt(plain, changed, properties.report)
    deaf = [which for which, heard in zip(asked, felt, strict=True) if not heard]
    for what, when, place in deaf[len(properties.diagnostic_states) :]:
        raise CheckFailed(
            f"{what} {place + 1} of {when} is never read: another answer changes nothing. Leave it out, or, if it "
            "is only recorded, declare its state in diagnostic_states"
        )
    return None


def _felt(plain: Trace, changed: Trace, report: str | None) -> list[bool]:
    """Of each replica, whether its iterates, or what is reported, differ from the plain ones after the change."""

    def seen(trace: Trace) -> Tensor:
        names = ("x", report) if report else ("x",)
        return torch.stack([torch.cat([getattr(s, name) for name in names], -1) for s in trace.states[SINCE + 1 :]])

    one, many = seen(plain), seen(changed)
    off = (many - one).abs().amax((0, 2, 3)) / one.abs().max()
    return [not each <= UNFELT for each in off.tolist()]
