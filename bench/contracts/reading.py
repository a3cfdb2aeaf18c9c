"""Checks that every state, message and gradient of a method influences its iterates."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch import Tensor

from bench.contracts.fixtures import SKIP, CheckFailed, must, quadratics, run_close, start
from bench.contracts.simulate import Trace
from bench.method import Algorithm, Grad, Mix

SINCE, ROUNDING = 5, 1e-12
"""The step after which a state is changed, and the relative change that rounding explains."""


def states_read(cls: type[Algorithm]) -> str | None:
    """every state influences the iterates, unless it is declared among diagnostic_states"""
    f, properties = quadratics(), cls.declare_for({})
    whole = run_close(cls, f, start())
    state = whole.states[SINCE]
    kept = [name for name in state._fields if name not in ("x", *properties.diagnostic_states)]
    if not kept:
        return SKIP
    changes = [(name, change) for name in kept for change in CHANGES]

    class Changed(cls):  # type: ignore[valid-type, misc]
        """Continues from that state, with one change in every replica."""

        def start(self, x: Tensor, grad: Grad, mix: Mix) -> Any:
            parts = {
                name: value.repeat(len(changes), *[1] * (value.ndim - 1)) for name, value in state._asdict().items()
            }
            for r, (name, change) in enumerate(changes):
                parts[name][r] = change(parts[name][r])
            return state._replace(**parts)

        def step(self, s: Any, t: int, grad: Grad, mix: Mix) -> Any:
            return super().step(s, t, grad, mix) if t >= SINCE else s

    changed = run_close(Changed, f, start().repeat(len(changes), 1, 1))
    influences = _influences(whole, changed, properties.report)
    for name in kept:
        must(
            any(influences[r] for r, (which, _) in enumerate(changes) if which == name),
            f"state {name} is never read: changing it after step {SINCE} does not change the iterates. Remove it, or "
            f"declare diagnostic_states='{name}' if it is only recorded",
        )
    return None


def _some(like: Tensor) -> Tensor:
    return torch.rand(like.shape, generator=torch.Generator().manual_seed(7), dtype=like.dtype)


CHANGES = (torch.zeros_like, lambda value: value + _some(value), lambda value: value * (1 + _some(value)))
"""Changes of a state. One must have an influence: a running maximum, for example, ignores smaller values."""


def asked_read(cls: type[Algorithm]) -> str | None:
    """every message and every gradient influences the iterates"""
    f, properties = quadratics(), cls.declare_for({})
    plain = run_close(cls, f, start())
    messages = [max(sum(map(len, calls)) for calls in part) for part in (plain.sent[:1], plain.sent[1:])]
    gradients = [plain.gradients[0], max(plain.gradients[1:])]
    inputs = [
        (what, when, place)
        for what, counts in (("message", messages), ("gradient", gradients))
        for when, count in zip(("the start", "a step"), counts, strict=True)
        for place in range(count)
    ]
    if not inputs:
        return SKIP
    now, count = "the start", Counter[str]()

    def answered(what: str, value: Tensor) -> Tensor:
        """Return the value, changed in the replica of this message or gradient."""
        place, count[what] = count[what], count[what] + 1
        if (what, now, place) not in inputs:
            return value
        value = value.clone()
        r = inputs.index((what, now, place))
        value[r] = CHANGES[-1](value[r])
        return value

    class Watched(cls):  # type: ignore[valid-type, misc]
        def step(self, s: Any, t: int, grad: Grad, mix: Mix) -> Any:
            nonlocal now
            now = "a step"
            count.clear()
            return super().step(s, t, grad, mix)

    changed = run_close(
        Watched,
        lambda x, s, stream: answered("gradient", f(x, s, stream)),
        start().repeat(len(inputs), 1, 1),
        heard=lambda given, mixed: tuple(answered("message", value) for value in mixed),
    )
    influences = _influences(plain, changed, properties.report)
    unread = [which for which, influence in zip(inputs, influences, strict=True) if not influence]
    for what, when, place in unread[len(properties.diagnostic_states) :]:
        raise CheckFailed(
            f"{what} {place + 1} of {when} is never read: changing it does not change the iterates. Remove it, or "
            "declare its state in diagnostic_states if it is only recorded"
        )
    return None


def _influences(plain: Trace, changed: Trace, report: str | None) -> list[bool]:
    """Return for each replica whether its iterates, or the reported state, differ from the plain ones."""

    def seen(trace: Trace) -> Tensor:
        names = ("x", report) if report else ("x",)
        return torch.stack([torch.cat([getattr(s, name) for name in names], -1) for s in trace.states[SINCE + 1 :]])

    one, many = seen(plain), seen(changed)
    off = (many - one).abs().amax((0, 2, 3)) / one.abs().max()
    return [not each <= ROUNDING for each in off.tolist()]
