"""The callables ``grad`` and ``mix`` of a method, and the rounds of communication behind ``mix``.

A method must not read W, the data or the constants of the problem: no attribute and no closure of ``grad`` and ``mix``
leads to them. A method that searches module globals or the garbage collector still finds them, but only on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.method.properties import Properties
from bench.network.compressor import Compressor, Draws, message_draws
from bench.network.mixing import Operator
from bench.problem.problem import Problem
from bench.training.costs import CostCounter, Stopwatch
from bench.training.hosting import Hosting

DECLARED = {"doubly": ("mix",), "push": ("push",), "pull": ("pull",), "push and pull": ("push", "pull")}
"""The operators that a method may use, by the value of its property ``mixes``."""


class Network:
    """The rounds of a run. Checks that the method has declared them, compresses, and counts time and costs."""

    step = -1
    """The current step; −1 at the start."""

    def __init__(
        self,
        hosting: Hosting,
        properties: Properties,
        costs: CostCounter,
        clock: Stopwatch,
        seeds: Sequence[int],
        compressor: Compressor | None = None,
        one_way: bool = False,
    ) -> None:
        self._hosting, self._mixer, self._properties = hosting, hosting.mixer, properties
        self._costs, self._clock, self._seeds = costs, clock, seeds
        self._compressor, self._one_way = compressor, one_way

    def recording(self, costs: Any, clock: Any, step: Any) -> Network:
        """Return this network with other costs, clock and step number, for a step that is captured."""
        out = copy(self)
        out._costs, out._clock, out.step = costs, clock, step
        return out

    def mix(self, tensors: tuple[Tensor, ...], when: Tensor | None = None) -> tuple[Tensor, ...]:
        """Multiply each tensor by W, in the replicas where ``when`` is true."""
        if when is None:
            return self._round(tensors, "mix")
        self._check_declared("mix")
        talks = when.flatten().cpu().numpy()
        mixed = tensors
        if talks.any():
            with self._timing(tensors):
                mixed = self._mixer(self._costs.round, self.step, tensors)
        if talks.any() and not talks.all():
            here = torch.as_tensor(talks, device=tensors[0].device)[:, None, None]
            mixed = tuple(torch.where(here, after, before) for after, before in zip(mixed, tensors, strict=True))
        self._costs.sent(_widths(tensors), self.step, talks)
        return mixed

    def push(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if self._one_way and self.step < 0:
            raise UserError(
                f"{self._properties.name} pushes before its first step. With links=one_way a message that is lost "
                "there never arrives. Use links=lossy."
            )
        return self._round(tensors, "push")

    def pull(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return self._round(tensors, "pull")

    def push_pull(
        self, push: tuple[Tensor, ...], pull: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Push some tensors and pull others in one round."""
        self._check_declared("push")
        self._check_declared("pull")
        with self._timing(push):
            out = self._mixer.both(self._costs.round, self.step, push, pull)
        self._costs.sent(_widths((*push, *pull)), self.step)
        return out

    def compressed(self, tensors: tuple[Tensor, ...]) -> tuple[tuple[Tensor, Tensor], ...]:
        """Return the pair C(v), W C(v) for each tensor v."""
        self._check_declared("mix")
        if self._properties.compresses == "no":
            raise UserError(
                f"{self._properties.name} calls mix.compressed without declaring compresses. Declare "
                "compresses='contractive', or 'any' if unbiased compressors are allowed."
            )
        if self._compressor is None:
            return tuple(zip(tensors, self._round(tensors, "mix"), strict=True))
        compressor, r, hosted = self._compressor, self._costs.round, self._hosting.hosted

        def unpack(i: int, payload: Tensor, nodes: Sequence[int]) -> Tensor:
            size, dtype = tensors[i].shape[-1], tensors[i].dtype
            vectors = compressor.unpack(payload.flatten(0, 1), size, dtype, self._draws(r, i, nodes))
            return vectors.view(*payload.shape[:2], size)

        with self._timing(tensors):
            packed = (compressor.pack(v.flatten(0, 1), self._draws(r, i, hosted)) for i, v in enumerate(tensors))
            payloads = tuple(p.view(*v.shape[:2], -1) for p, v in zip(packed, tensors, strict=True))
            decoded = tuple(unpack(i, payload, hosted) for i, payload in enumerate(payloads))
            mixed = self._mixer.compressed(r, self.step, payloads, decoded, unpack)
        bits = 8 * sum(payload.shape[-1] for payload in payloads)
        self._costs.sent(_widths(tensors), self.step, bits=bits)
        return tuple(zip(decoded, mixed, strict=True))

    def _round(self, tensors: tuple[Tensor, ...], by: Operator) -> tuple[Tensor, ...]:
        self._check_declared(by)
        with self._timing(tensors):
            mixed = self._mixer(self._costs.round, self.step, tensors, by)
        self._costs.sent(_widths(tensors), self.step)
        return mixed

    def _timing(self, tensors: tuple[Tensor, ...]) -> AbstractContextManager[None]:
        return self._clock.gpu_round() if tensors[0].is_cuda else self._clock.timing("comm_s")

    def _check_declared(self, by: Operator) -> None:
        if by not in DECLARED[self._properties.mixes]:
            call, needed = ("mix", "doubly") if by == "mix" else (f"mix.{by}", by)
            raise UserError(
                f"{self._properties.name} calls {call} but declares mixes='{self._properties.mixes}'. "
                f"Declare mixes='{needed}'."
            )

    def _draws(self, r: int, i: int, nodes: Sequence[int]) -> Draws:
        return message_draws(self._seeds, nodes, i, r)


def _widths(tensors: tuple[Tensor, ...]) -> tuple[int, ...]:
    return tuple(tensor.shape[-1] for tensor in tensors)


class GradOracle:
    """``grad(x, s, stream=0)`` and ``grad.full(x)``."""

    __slots__ = ("__weakref__",)

    def __call__(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        problem, costs = _behind[self]
        costs.sample(s, stream)
        return _checked(x, problem.grad(x, s, stream))

    def full(self, x: Tensor) -> Tensor:
        problem, costs = _behind[self]
        costs.all_data()
        return _checked(x, problem.full(x))


class MixOracle:
    """``mix(*tensors, when=None)``, ``mix.push``, ``mix.pull``, ``mix.push_pull`` and ``mix.compressed``."""

    __slots__ = ("__weakref__",)

    def __call__(self, *tensors: Tensor, when: Tensor | None = None) -> tuple[Tensor, ...]:
        return _behind[self].mix(tensors, when)

    def push(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return _behind[self].push(tensors)

    def pull(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return _behind[self].pull(tensors)

    def push_pull(
        self, push: tuple[Tensor, ...], pull: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        return _behind[self].push_pull(push, pull)

    def compressed(self, *tensors: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
        return _behind[self].compressed(tensors)


_behind: WeakKeyDictionary[GradOracle | MixOracle, Any] = WeakKeyDictionary()


def make_oracles(problem: Problem, network: Network, costs: Any) -> tuple[GradOracle, MixOracle]:
    """Return ``grad`` and ``mix`` of one run. ``costs`` counts every call."""
    grad, mix = GradOracle(), MixOracle()
    _behind[grad], _behind[mix] = (problem, costs), network
    return grad, mix


def _checked(x: Tensor, g: Tensor) -> Tensor:
    if g.shape != x.shape:  # broadcasting would hide the error
        raise UserError(f"The problem's gradient must have the shape {tuple(x.shape)} of x, got {tuple(g.shape)}.")
    return g
