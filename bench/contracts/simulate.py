"""Run an algorithm on plain tensors, watching everything it does: for tests and contracts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from bench.base.layout import Layout
from bench.method.algorithm import Algorithm
from bench.method.schedules import tables
from bench.method.trajectory import trajectory
from bench.problem.problem import vector_layout

Gradient = Callable[[Tensor, int, int], Tensor]


@dataclass
class Trace:
    """What an algorithm did: its states after 0, 1, … steps, and each step's traffic."""

    states: list[Any] = field(default_factory=list)
    sent: list[list[tuple[Tensor, ...]]] = field(default_factory=list)  # per step, per call of mix
    samples: list[set[tuple[int, int]]] = field(default_factory=list)  # per step, (stream, s); the start first

    def x(self) -> Tensor:
        """All iterates, (steps + 1, R, n, P)."""
        return torch.stack([state.x for state in self.states])


def simulate(
    cls: type[Algorithm],
    w: Tensor,
    gradient: Gradient,
    x: Tensor,
    steps: int,
    options: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    *,
    keep: bool = True,
    schedule_nodes: int | None = None,
    layout: Layout | None = None,
) -> Trace:
    """``steps`` steps from x of shape (R, n, P) with W of shape (n, n) or (R, n, n).

    ``gradient(x, s, stream)`` gives the stacked gradients. ``options`` may be one mapping for all
    replicas or one each. ``schedule_nodes`` is the n of the stepsizes where it is not that of x;
    ``layout`` says which tensors the P parameters are, where they are more than one.
    """
    replicas = [options] * len(x) if isinstance(options, Mapping) else list(options) or [{}] * len(x)
    given = [{**{k: o.default for k, o in cls.stepsize_options().items()}, **replica} for replica in replicas]
    structure = {k: given[0].pop(k, o.default) for k, o in cls.structure_options().items()}
    stepsizes = [{k: replica[k] for k in cls.stepsize_options()} for replica in given]
    schedules = tables(cls.stepsizes, stepsizes, schedule_nodes or x.shape[1], steps, x.dtype)
    algorithm = cls(layout or vector_layout(x.shape[-1]), schedules, **structure)

    trace = Trace()

    def grad(x: Tensor, s: int, stream: int = 0) -> Tensor:
        trace.samples[-1].add((stream, s))
        return gradient(x, s, stream)

    def mix(*tensors: Tensor) -> tuple[Tensor, ...]:
        trace.sent[-1].append(tensors)
        return tuple(torch.matmul(w, tensor) for tensor in tensors)

    trace.samples.append(set())
    with torch.inference_mode():
        for t, state in trajectory(algorithm, x, grad, mix, steps):
            if keep:
                trace.states.append(state)
            else:
                trace.states, trace.sent, trace.samples = [state], [], []
            if t < steps:
                trace.samples.append(set())
                trace.sent.append([])
    return trace
