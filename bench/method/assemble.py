"""From the options of several runs to one method that computes them all."""

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
    """``replicas`` holds the options of each; they may differ in numbers, ``seeds`` and ``spectrum``, what is known
    of W by name: it is forgotten here unless the method declares that it needs the topology."""

    def per_replica(values: Sequence[float]) -> torch.Tensor:
        return torch.tensor(values, dtype=dtype, device=device)[:, None, None]

    first, options = replicas[0], cls.structure_options()
    words = {name: first[name] for name, option in options.items() if not option.is_number}
    numbers = {name: per_replica([r[name] for r in replicas]) for name in options if name not in words}
    stepsizes = [{name: replica[name] for name in cls.stepsize_options()} for replica in replicas]
    schedules = stepsize_tables(cls.stepsizes, stepsizes, n, T, dtype, device)
    promise = cls.declare_for(first)
    known = {name: values for name, values in (spectrum or {}).items() if None not in values}
    knows = {name: per_replica(values) for name, values in known.items()}  # type: ignore[arg-type]
    return cls(layout, schedules, words, numbers, promise, seeds or [0] * len(replicas), knows, device, n, prox)
