"""One instance of a method that computes several runs (replicas) at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch

from bench.base.layout import Layout
from bench.base.prox import Prox, stays
from bench.method.algorithm import Algorithm
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

    def per_replica(values: Sequence[float]) -> torch.Tensor:
        return torch.tensor(values, dtype=dtype, device=device)[:, None, None]

    first, options = replicas[0], cls.structure_options()
    words = {name: first[name] for name, option in options.items() if not option.is_number}
    numbers = {name: per_replica([r[name] for r in replicas]) for name in options if name not in words}
    stepsizes = [{name: replica[name] for name in cls.stepsize_options()} for replica in replicas]
    schedules = stepsize_tables(cls.stepsizes, stepsizes, n, T, dtype, device)
    properties = cls.declare_for(first)
    known = {name: values for name, values in (spectrum or {}).items() if None not in values}
    knows = {name: per_replica(values) for name, values in known.items()}  # type: ignore[arg-type]
    return cls(layout, schedules, words, numbers, properties, seeds or [0] * len(replicas), knows, device, n, prox)
