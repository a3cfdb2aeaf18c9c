"""Stepsizes as tables over steps and replicas, in the paper's letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.registry import schedules

Shape = Callable[[np.ndarray, int, int], tuple[Any, Any]]
"""From t, T and n to h and the root that a stepsize is multiplied by; numbers, or arrays over t."""
STEP_AT, STEP_BY, WARM = (0.5, 0.75), 0.1, 0.05
"""warmup_step: the parts of T at which it falls, by which factor, and how long it rises."""


@dataclass(frozen=True)
class Steps:
    """What a stepsize may depend on."""

    kind: str
    formula: bool  # whether the paper's formulas in h are meant; if not, what is given times root
    t: np.ndarray  # 0 … T−1
    T: int
    n: int
    h: np.ndarray  # t when diminishing, ∞ at t = 0: every formula of the paper is then 0, as it says; T otherwise
    root: np.ndarray  # √(n/h); 1 when constant

    @classmethod
    def of(cls, kind: str, n: int, T: int) -> Steps:
        t = np.arange(T, dtype=np.float64)
        shape, formula = schedules[kind]
        h, root = (np.broadcast_to(np.asarray(part, dtype=np.float64), (T,)) for part in shape(t, T, n))
        return cls(kind, formula, t, T, n, h, root)


def schedule(name: str, formula: bool = False) -> Callable[[Shape], Shape]:
    """Register a kind of schedule; with ``formula``, stepsizes follow the paper's formulas in its h."""

    def decorate(shape: Shape) -> Shape:
        schedules.add(name, (shape, formula))
        return shape

    return decorate


@schedule("diminishing", formula=True)
def diminishing(t: np.ndarray, T: int, n: int) -> tuple[Any, Any]:
    """√(n/t), and 0 at t = 0: the first step only mixes"""
    h = np.where(t == 0, np.inf, t)
    return h, np.sqrt(n / h)


@schedule("fixed", formula=True)
def fixed(t: np.ndarray, T: int, n: int) -> tuple[Any, Any]:
    """√(n/T) at every step"""
    return T, np.sqrt(n / T)


@schedule("constant")
def constant(t: np.ndarray, T: int, n: int) -> tuple[Any, Any]:
    """1 at every step: η as it is given"""
    return T, 1.0


@schedule("warmup_step")
def warmup_step(t: np.ndarray, T: int, n: int) -> tuple[Any, Any]:
    """rises to 1 over the first twentieth of T, falls to a tenth at T/2 and to a hundredth at 3T/4"""
    rising = np.minimum(1.0, (t + 1) / max(1.0, WARM * T))
    return T, rising * STEP_BY ** sum((t >= part * T).astype(float) for part in STEP_AT)


class Schedule:
    """``schedule[t]`` is the stepsize of step t, shaped (R, 1, 1) so that it meets any state."""

    def __init__(self, values: np.ndarray, dtype: torch.dtype, device: torch.device | str = "cpu") -> None:
        self.values = values  # (steps, R), float64: what theory's bounds are computed from
        table = torch.as_tensor(values, dtype=dtype, device=device)
        self._rows = list(table[:, :, None, None].unbind(0))

    def __getitem__(self, t: int) -> Tensor:
        return self._rows[t]


def stepsize_tables(
    stepsizes: Callable[..., Mapping[str, Any]],
    replicas: Sequence[Mapping[str, Any]],
    nodes: int,
    steps: int,
    dtype: torch.dtype,
    device: torch.device | str = "cpu",
) -> dict[str, Schedule]:
    """One table per stepsize of an algorithm; ``replicas`` holds each replica's stepsize options."""
    columns: dict[str, list[np.ndarray]] = {}
    for options in replicas:
        rest = {name: value for name, value in options.items() if name != "schedule"}
        at = Steps.of(options["schedule"], nodes, steps)
        for name, values in stepsizes(at, **rest).items():
            columns.setdefault(name, []).append(np.broadcast_to(values, (steps,)))
    return {name: Schedule(np.stack(cols, axis=1), dtype, device) for name, cols in columns.items()}
