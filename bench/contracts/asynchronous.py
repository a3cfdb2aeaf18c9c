"""Checks of asynchronous methods, on small quadratics with a slow node, random compute times and late messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.authors import flaw
from bench.contracts.fixtures import DIMENSION, NODES, SKIP, Check, Malformed, applies_to, equal, must
from bench.contracts.fixtures import start as some_start
from bench.contracts.play import NodeGradient, Pace, Played, play
from bench.method.asynchronous import Node

Method = type[Any]
"""A subclass of ``Asynchronous``, decorated with ``@algorithm``."""
STEPS, SINCE = 12, 5
"""The steps of short runs, and the step after which they are continued or changed."""
PACE = Pace(nodes=NODES)


def quadratics(noise: float = 0.3) -> NodeGradient:
    """Return noisy gradients of a different quadratic on every node; the noise depends on the node and its sample."""
    g = torch.Generator().manual_seed(3)
    scale = 1 + torch.rand(NODES, DIMENSION, generator=g, dtype=torch.float64)
    center = torch.randn(NODES, DIMENSION, generator=g, dtype=torch.float64)
    table = noise * torch.randn(1000, NODES, DIMENSION, generator=g, dtype=torch.float64)
    return lambda x, numbers: scale * (x - center) + table[numbers % 1000, np.arange(NODES)]


def nothing(x: Tensor, numbers: np.ndarray) -> Tensor:
    return torch.zeros_like(x)


def paces(cls: Method) -> list[tuple[str, Pace]]:
    """Return the networks that the method must bear, with their names."""
    properties = cls.declare_for({})
    out = [("a ring", PACE)]
    if properties.mixes == "push":
        out.append(("a directed ring", replace(PACE, topology="directed_ring", slow=2.0, delay=0.2)))
    if properties.events == "messages":
        out.append(("a ring that loses a quarter of the messages", replace(PACE, drop=0.25)))
    return out


def form(cls: Method) -> None:
    """begin returns x and tensors that share no memory, and events keep their types and shapes"""
    x = some_start(2)
    run = _run(cls, quadratics(), x)
    first = run.states[0]
    if wrong := flaw(first, x.shape, 0):
        raise Malformed(wrong)
    must(torch.equal(first.x, x), "the state before the first event must have the x that begin received")
    for state in (run.states[-1], run.end):
        for name, value in state._asdict().items():
            was = getattr(first, name)
            must((value.shape, value.dtype) == (was.shape, was.dtype), f"state {name} changes its shape or type")
            must(value.isfinite().all(), f"state {name} is not finite after {STEPS} steps")

    class Begun(cls):
        def begin(self, x: Tensor) -> Any:
            state = super().begin(x)
            places = [value.untyped_storage().data_ptr() for value in state]
            must(len(set(places)) == len(places), "two states share memory: events change them in place. Use clone()")
            return state

    _run(Begun, quadratics(), x, 1)


def cost(cls: Method) -> None:
    """messages have the declared vectors_per_step and scalars_per_step, one at most after a gradient"""
    properties, run = cls.declare_for({}), _run(cls, quadratics(), some_start())
    declared = properties.vectors_per_step, properties.scalars_per_step
    must(all(each == int(each) for each in declared), f"the costs of one message must be whole numbers, got {declared}")
    must(run.costs["bytes"] > 0 or not any(declared), f"declares {declared} per message, but sends none")
    if properties.events in ("pairs", "meetings"):
        must(declared[0] >= 1, f"nodes that meet exchange at least one vector, but vectors_per_step={declared[0]:g}")


def own_state(cls: Method) -> None:
    """an event changes the state of its nodes only, and depends on it and on the message only"""

    class Watched(cls):
        def on_gradient(self, s: Any, node: Node, g: Tensor) -> None:
            _watch("a gradient", s, [node], lambda s: super(Watched, self).on_gradient(s, node, g))

        def on_message(self, s: Any, node: Node, sender: int, *received: Tensor) -> None:
            _watch("a message", s, [node], lambda s: super(Watched, self).on_message(s, node, sender, *received))

        def on_pair(self, s: Any, one: Node, other: Node) -> None:
            _watch("a pair", s, [one, other], lambda s: super(Watched, self).on_pair(s, one, other))

    _run(Watched, quadratics(), some_start(), SINCE)


def _watch(what: str, s: Any, nodes: list[Node], event: Callable[[Any], None]) -> None:
    """Apply an event to the state, and to one with other values at all other nodes."""
    mine = torch.zeros(s.x.shape[1], dtype=torch.bool)
    mine[[node.i for node in nodes]] = True
    g = torch.Generator().manual_seed(7)
    before = {name: value.clone() for name, value in s._asdict().items()}
    other = type(s)(*(value.clone() for value in s))
    for value in other:
        value[:, ~mine] += torch.rand(value[:, ~mine].shape, generator=g, dtype=value.dtype)
    posts, sent = [node._post for node in nodes], [[], []]  # type: list[Any], list[list[Tensor]]
    for node in nodes:
        node._post = lambda node, tensors: sent[0].append(torch.cat(tensors, -1))
    event(other)
    for node, post in zip(nodes, posts, strict=True):
        node._post = _heard(sent[1], post)
    event(s)
    for node, post in zip(nodes, posts, strict=True):
        node._post = post
    who = " and ".join(str(node.i) for node in nodes)
    for name, value in s._asdict().items():
        must(torch.equal(value[:, ~mine], before[name][:, ~mine]), f"{what} of {who} changes {name} of other nodes")
        same = torch.equal(value[:, mine], getattr(other, name)[:, mine])
        must(same, f"{what} of {who} depends on the states of other nodes: {name} differs")
    same = all(torch.equal(a, b) for a, b in zip(*sent, strict=True))
    must(same, f"after {what}, {who} sends what it cannot know: the states of other nodes")


def _heard(sent: list[Tensor], post: Callable[..., None]) -> Callable[..., None]:
    """Return a function that posts a message and keeps it."""

    def both(node: Node, tensors: tuple[Tensor, ...]) -> None:
        sent.append(torch.cat(tensors, -1))
        post(node, tensors)

    return both


def memory(cls: Method) -> None:
    """a run that continues from a copy of its state has the same numbers: nothing else is remembered"""
    whole = _run(cls, quadratics(), some_start())
    rest = _run(cls, quadratics(), some_start(), begin=whole.ends[SINCE])
    for name, value in whole.end._asdict().items():
        same = torch.equal(value, getattr(rest.end, name))
        must(same, f"state {name} differs if the run continues after step {SINCE}. Keep what lasts in the state only")


def replicas(cls: Method) -> None:
    """replicas with different starts and stepsizes do not influence each other"""
    x, etas = some_start(2), (0.02, 0.05)
    together = _run(cls, quadratics(), x, eta=etas)
    for r, eta in enumerate(etas):
        alone = _run(cls, quadratics(), x[r : r + 1], eta=(eta,))
        equal(together.x()[:, r], alone.x()[:, 0], f"replica {r} differs from a run of its own")


def agreement(cls: Method) -> None:
    """with zero gradients, nodes that start at one point stay there"""
    x = some_start()[:, :1].expand(-1, NODES, -1)
    for where, pace in paces(cls):
        run = _run(cls, nothing, x, pace=pace)
        equal(x.expand_as(run.x()), run.x(), f"on {where}, nodes leave a common point without gradients")


def average(cls: Method) -> None:
    """with zero gradients, nodes agree; if keeps_mean, at the mean of their initial points"""
    x = some_start()
    for where, pace in paces(cls):
        end = _run(cls, nothing, x, LONG, pace=pace, keep=False).end.x
        apart = (end - end.mean(1, keepdim=True)).abs().max().item()
        must(apart <= SETTLED, f"on {where}, the nodes differ by {apart:.2g} after {LONG} steps without gradients")
        off = (end.mean(1) - x.mean(1)).abs().max().item()
        away = f"on {where}, the nodes agree at a point {off:.2g} from the mean of their initial points"
        must(off <= SETTLED or not cls.declare_for({}).keeps_mean, f"{away}. Correct it, or declare keeps_mean=False")


LONG, SETTLED = 250, 1e-5


def stepsize(cls: Method) -> None:
    """with eta = 0, gradients do not move x; with another, the gradients of every node do"""
    quiet, loud = (_run(cls, quadratics(noise), some_start(), eta=(0.0,)) for noise in (0.3, 9))
    equal(quiet.x(), loud.x(), "with η = 0, the iterates depend on the gradients")
    plain, more = quadratics(), torch.eye(NODES, dtype=torch.float64).unsqueeze(-1)  # replica r changes node r
    changed = _run(cls, lambda x, k: plain(x, k) + more, some_start().repeat(NODES, 1, 1), eta=(0.05,) * NODES)
    usual = _run(cls, plain, some_start(), eta=(0.05,))
    off = (changed.x() - usual.x()).abs().amax((0, 2, 3))
    for i, each in enumerate(off.tolist()):
        must(each > 1e-9, f"the gradients of node {i} do not change the iterates")


def states_read(cls: Method) -> str | None:
    """every state influences the iterates, unless it is declared among diagnostic_states"""
    whole = _run(cls, quadratics(), some_start(), eta=(0.05,))
    t, state, between = whole.ends[SINCE]
    names = [name for name in state._fields if name not in ("x", *cls.declare_for({}).diagnostic_states)]
    if not names:
        return SKIP
    many = {name: value.repeat(len(names), *[1] * (value.ndim - 1)) for name, value in state._asdict().items()}
    for r, name in enumerate(names):
        many[name][r] += torch.rand(many[name][r].shape, generator=torch.Generator().manual_seed(r)) / 10
    flying = {name: value.repeat(len(names), *[1] * (value.ndim - 1)) for name, value in between.items()}
    begin = t, type(state)(**many), flying
    changed = _run(cls, quadratics(), some_start().repeat(len(names), 1, 1), eta=(0.05,) * len(names), begin=begin)
    for r, name in enumerate(names):
        off = (changed.end.x[r] - whole.end.x[0]).abs().max().item()
        must(off > 1e-9, f"state {name} is never read. Remove it, or declare diagnostic_states='{name}'")
    return None


@applies_to(lambda properties: properties.fixed_point != "elsewhere")
def end(cls: Method) -> None:
    """with a slow node, exact gradients and a constant stepsize, the limit is the declared fixed_point"""
    f, exact = quadratics(noise=0), cls.declare_for({}).fixed_point == "exact"
    zero = torch.zeros(1, NODES, DIMENSION, dtype=torch.float64)
    at_zero = f(zero, np.zeros(NODES, dtype=np.int64))
    target = -at_zero.mean(1) / (f(zero + 1, np.zeros(NODES, dtype=np.int64)) - at_zero).mean(1)
    x = some_start()[:, :1].expand(len(LADDER), NODES, -1)
    run = _run(cls, f, x, FAR, eta=LADDER, pace=replace(PACE, jitter=0.0, slow=3.0, delay=0.1), keep=False)
    off = ((run.end.x.mean(1) - target).norm(dim=-1) / (x[:, 0] - target).norm(dim=-1)).nan_to_num(torch.inf)
    best = int(off.argmin())
    where = f"{FAR} steps leave {off[best]:.2g} of the distance to the minimizer with eta={LADDER[best]:g}"
    if exact:
        must(off[best] <= EXACT, f"{where}. Declare fixed_point='near' or 'elsewhere' if this is intended")
    else:
        near = (off[2:] <= NEAR) & (off[2:] <= 0.4 * off[:-2])  # a quarter of the stepsize
        must(near.any(), f"{where}. If the limit does not approach it as η shrinks, declare fixed_point='elsewhere'")


LADDER, FAR, EXACT, NEAR = tuple(0.64 / 2**rung for rung in range(6)), 400, 1e-7, 0.1


def _run(cls: Method, f: NodeGradient, x: Tensor, steps: int = STEPS, **options: Any) -> Played:
    """Play a method with a constant stepsize; the tape is as long as that of a run of all steps."""
    options = {"pace": PACE, "eta": (0.05,) * len(x), **options}
    return play(cls, f, x, steps, {"schedule": "constant"}, **options)


CHECKS: tuple[Check, ...] = (
    *(form, cost, own_state, memory, replicas, agreement, average, stepsize, states_read, end),
)
"""Each raises ``CheckFailed``, or returns ``SKIP`` if it does not apply."""
