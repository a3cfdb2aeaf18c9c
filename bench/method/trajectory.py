"""Instances of methods and their sequences of states. Engines, contracts and tests use this module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from bench.base.layout import Layout
from bench.base.prox import Prox, stays
from bench.method.algorithm import Algorithm
from bench.method.protocols import Grad, Mix
from bench.method.schedules import stepsize_tables

A = TypeVar("A", bound=Algorithm)


def assemble(
    cls: type[A],
    layout: Layout,
    replicas: Sequence[Mapping[str, Any]],
    *,
    n: int,
    T: int,
    dtype: torch.dtype,
    device: torch.device | str = "cpu",
    seeds: Sequence[int] | None = None,
    spectrum: Mapping[str, Sequence[float | None]] | None = None,
    prox: Prox = stays,
) -> A:
    """Return an instance of a method for several replicas.

    Args:
        cls: The method.
        layout: Where each tensor of the model lies in the vector of P parameters.
        replicas: The options of each replica, which may differ in numbers only.
        n: The number of nodes in the stepsize formulas.
        T: The number of steps.
        dtype: The type of the states.
        device: The device of the states.
        seeds: The seed of each replica. Default: 0.
        spectrum: ``rho``, ``lambda_2`` and ``lambda_n`` of each replica's W. Used only if the method needs the
            topology.
        prox: The proximal step of a nonsmooth regularizer.

    Returns:
        The instance.
    """

    def per_replica(values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=dtype, device=device)[:, None, None]

    first, options = replicas[0], cls.structure_options()
    words = {name: first[name] for name, option in options.items() if not option.is_number}
    numbers = {name: per_replica([r[name] for r in replicas]) for name in options if name not in words}
    stepsizes = [{name: replica[name] for name in cls.stepsize_options()} for replica in replicas]
    attributes = {**stepsize_tables(cls.stepsizes, stepsizes, n, T, dtype, device), **words, **numbers}
    known = {name: values for name, values in (spectrum or {}).items() if None not in values}
    knows = {name: per_replica(values) for name, values in known.items()}  # type: ignore[arg-type]
    seeds = seeds or [0] * len(replicas)
    return cls(layout, attributes, cls.declare_for(first), seeds, knows, device, n, prox)


def trajectory(
    algorithm: Algorithm,
    begin: Tensor | tuple[int, Any],
    grad: Grad,
    mix: Mix,
    steps: int,
    step: Callable[[Any, int], Any] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield the pairs (t, state after t steps) up to ``steps``.

    Args:
        algorithm: The method.
        begin: The initial points x, (R, k, P), or a pair (t, state) to continue from.
        grad: Gradients of the hosted nodes.
        mix: Communication with the neighbors.
        steps: The number of steps in all.
        step: A faster function with the values of ``algorithm.step(state, t, grad, mix)``.

    Yields:
        The pairs, the first one included.
    """
    t, state = (0, algorithm.start(begin, grad, mix)) if isinstance(begin, Tensor) else begin
    del begin  # frees the memory of x if the method does not keep it
    yield t, state
    while t < steps:
        state = step(state, t) if step else algorithm.step(state, t, grad, mix)
        t += 1
        yield t, state


def blank_state(algorithm: Algorithm, x: Tensor) -> Any:
    """Return the start at x with zero gradients, which has the type, fields and shapes of the method's states.

    The annotation of ``start`` is not used, because a plug-in need not have one and it has no shapes.
    """
    return algorithm.start(x, _Nothing(), _Silence())


class _Nothing:
    """Zero gradients."""

    def __call__(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        return torch.zeros_like(x)

    def full(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class _Silence:
    """A network of one node, which returns its input."""

    def __call__(self, *tensors: Tensor, when: Tensor | None = None) -> tuple[Tensor, ...]:
        return tensors

    push = pull = __call__

    def push_pull(
        self, push: tuple[Tensor, ...], pull: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        return push, pull

    def compressed(self, *tensors: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
        return tuple((tensor, tensor) for tensor in tensors)
