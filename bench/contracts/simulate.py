"""``simulate`` runs a method on plain tensors and records everything it does, for tests and contracts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.layout import Layout
from bench.method.algorithm import Algorithm
from bench.method.schedules import Schedule
from bench.method.trajectory import assemble, trajectory
from bench.network.compressor import Compressor, message_draws
from bench.problem.problem import vector_layout

Gradient = Callable[[Tensor, int, int], Tensor]
"""A function of x, s and the stream that returns gradients; s = ``ALL_DATA`` means the full gradient."""
ALL_DATA = -1
Heard = Callable[[tuple[Tensor, ...], tuple[Tensor, ...]], tuple[Tensor, ...] | None]
"""A function of the sent and the received tensors that returns a replacement of the latter, or None."""


@dataclass
class Trace:
    """The record of a simulation. All lists but ``states`` have one entry for the start and one for each step.

    Attributes:
        states: The states after 0, 1, … steps.
        sent: The tensors of each call of ``mix``.
        samples: The pairs (stream, s) of the samples used.
        gradients: The number of calls of ``grad``.
        calls: The kind of each call: ``"mix"``, ``"push"``, ``"pull"``, ….
    """

    states: list[Any] = field(default_factory=list)
    sent: list[list[tuple[Tensor, ...]]] = field(default_factory=list)
    samples: list[set[tuple[int, int]]] = field(default_factory=list)
    gradients: list[int] = field(default_factory=list)
    calls: list[list[str]] = field(default_factory=list)

    def begin_step(self) -> None:
        """Append an empty entry for the next step to all lists but ``states``."""
        self.sent.append([])
        self.calls.append([])
        self.samples.append(set())
        self.gradients.append(0)

    def x(self) -> Tensor:
        """Return all iterates, (steps + 1, R, n, P)."""
        return torch.stack([state.x for state in self.states])


def simulate(
    cls: type[Algorithm],
    w: Tensor,
    gradient: Gradient,
    x: Tensor,
    steps: int,
    options: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    *,
    pull: Tensor | None = None,
    heard: Heard | None = None,
    keep: bool = True,
    schedule_nodes: int | None = None,
    layout: Layout | None = None,
    seeds: Sequence[int] | None = None,
    known: Tensor | None = None,
    eta: Sequence[float] | None = None,
    until: Callable[[Any], bool] | None = None,
    compressor: Compressor | None = None,
) -> Trace:
    """Run a method for ``steps`` steps on plain tensors, without a configuration.

    Args:
        cls: The method, a class decorated with ``@algorithm``.
        w: The mixing matrix, (n, n), or one for each of R independent runs, (R, n, n).
        gradient: ``gradient(x, s, stream)`` returns the nodes' gradients, (R, n, P), at x on sample number s;
            s = ``ALL_DATA`` means the full gradient.
        x: The start, (R, n, P).
        steps: How many steps to make, T.
        options: The method's options, one mapping for all runs or one for each. Missing options have their defaults.
        pull: The row-stochastic matrix of methods that pull, if it is not ``w``.
        heard: Called with the sent and the received tensors; may return a replacement for the latter.
        keep: Whether to keep all states, or only the last.
        schedule_nodes: The n of the stepsize formulas, if it is not that of ``x``.
        layout: Which tensors the P parameters form, if more than one.
        seeds: The seeds of the runs; 0, 1, … by default.
        known: The matrix whose spectrum the method may use, if it is not ``w``.
        eta: Stepsizes for t = 0, …, T−1 that replace those of the method.
        until: Called with every tenth state; ends the run when it returns True.
        compressor: The compressor of ``mix.compressed``; by default, vectors are sent unchanged.

    Returns:
        A ``Trace`` with the states after 0, 1, …, T steps, and the messages and samples of each.

    Example:
        >>> w = torch.full((4, 4), 0.25, dtype=torch.float64)
        >>> x = torch.ones(1, 4, 2, dtype=torch.float64)
        >>> simulate(MyMethod, w, lambda x, s, stream: x, x, 10, {"eta": 0.1}).x().shape
        torch.Size([11, 1, 4, 2])
    """
    defaults = {k: o.default for k, o in {**cls.stepsize_options(), **cls.structure_options()}.items()}
    replicas = [options] * len(x) if isinstance(options, Mapping) else list(options) or [{}] * len(x)
    given = [{**defaults, **replica} for replica in replicas]
    n, seeds = schedule_nodes or x.shape[1], range(len(x)) if seeds is None else seeds
    spectrum = _spectrum(w if known is None else known, len(x))
    layout = layout or vector_layout(x.shape[-1])
    algorithm = assemble(cls, layout, given, n=n, T=max(1, steps), dtype=x.dtype, seeds=seeds, spectrum=spectrum)
    if eta is not None and hasattr(algorithm, "eta"):
        algorithm.eta = Schedule(np.tile(np.asarray(eta, dtype=np.float64), (max(1, steps), 1)), x.dtype)
    trace = Trace()
    grad, mix = _Grad(gradient, trace), _Mix(w, trace, pull, heard, compressor, seeds)
    trace.begin_step()
    with torch.inference_mode():
        for t, state in trajectory(algorithm, x, grad, mix, steps):
            if not keep:
                for record in vars(trace).values():
                    record.clear()
            trace.states.append(state)
            if until and t % 10 == 0 and until(state):
                break
            if t < steps:
                trace.begin_step()
    return trace


class _Grad:
    def __init__(self, gradient: Gradient, trace: Trace) -> None:
        self._gradient, self._trace = gradient, trace

    def __call__(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        self._trace.samples[-1].add((stream, s))
        self._trace.gradients[-1] += 1
        return self._gradient(x, s, stream)

    def full(self, x: Tensor) -> Tensor:
        return self._gradient(x, ALL_DATA, 0)


class _Mix:
    """All calls of ``Mix`` with one matrix; ``pull`` may have its own."""

    def __init__(
        self,
        w: Tensor,
        trace: Trace,
        pull: Tensor | None,
        heard: Heard | None,
        compressor: Compressor | None,
        seeds: Sequence[int],
    ) -> None:
        self._w, self._trace, self._heard = w, trace, heard
        self._pull = w if pull is None else pull
        self._compressor, self._seeds, self._rounds = compressor, seeds, 0

    def __call__(self, *tensors: Tensor, when: Tensor | None = None) -> tuple[Tensor, ...]:
        if when is not None and not when.any():
            return tensors
        mixed = self._round("mix", tensors, self._w)
        if when is None:
            return mixed
        return tuple(torch.where(when, after, before) for after, before in zip(mixed, tensors, strict=True))

    def push(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return self._round("push", tensors, self._w)

    def pull(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return self._round("pull", tensors, self._pull)

    def push_pull(
        self, push: tuple[Tensor, ...], pull: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        mixed = self._round("push_pull", (*push, *pull), *[self._w] * len(push), *[self._pull] * len(pull))
        return mixed[: len(push)], mixed[len(push) :]

    def compressed(self, *tensors: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
        sent = tuple(self._decoded(i, tensor) for i, tensor in enumerate(tensors))
        return tuple(zip(sent, self._round("compressed", sent, self._w), strict=True))

    def _decoded(self, i: int, v: Tensor) -> Tensor:
        """Return C(v), of message i of this round."""
        if self._compressor is None:
            return v
        draws, rows = message_draws(self._seeds, range(v.shape[1]), i, self._rounds), v.flatten(0, 1)
        payload = self._compressor.pack(rows, draws)
        return self._compressor.unpack(payload, v.shape[2], v.dtype, draws).view(v.shape)

    def _round(self, call: str, tensors: tuple[Tensor, ...], *by: Tensor) -> tuple[Tensor, ...]:
        self._rounds += 1
        self._trace.calls[-1].append(call)
        self._trace.sent[-1].append(tensors)
        matrices = by * len(tensors) if len(by) == 1 else by
        mixed = tuple(torch.matmul(w, tensor) for w, tensor in zip(matrices, tensors, strict=True))
        replaced = self._heard(tensors, mixed) if self._heard else None
        return mixed if replaced is None else replaced


def _spectrum(w: Tensor, replicas: int) -> dict[str, list[float | None]]:
    """Return ρ, λ₂ and λ_n of every replica's W; nothing if W is not symmetric."""
    if not torch.allclose(w, w.mT):
        return {}
    values = torch.linalg.eigvalsh(w.double()).expand(replicas, -1)
    if values.shape[1] == 1:
        return {"rho": [0.0] * replicas, "lambda_2": [0.0] * replicas, "lambda_n": values[:, 0].tolist()}
    second, last = values[:, -2], values[:, 0]
    rho = torch.maximum(second.abs(), last.abs())
    return {"rho": rho.tolist(), "lambda_2": second.tolist(), "lambda_n": last.tolist()}
