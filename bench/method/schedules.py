"""Stepsize schedules: their registration, and tables of stepsizes over steps and replicas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.registry import schedules
from bench.base.step_index import StepIndex

Shape = Callable[[np.ndarray, int, int], tuple[Any, Any]]
"""A function from t (an array), T and n to the pair (h, root), each a number or an array over t."""
STEP_AT, STEP_BY, WARM = (0.5, 0.75), 0.1, 0.05
"""``warmup_step``: the fractions of T at which the stepsize drops, the factor, and the fraction of T for warmup."""


@dataclass(frozen=True)
class Steps:
    """The quantities that a stepsize may depend on, the argument ``at`` of ``Algorithm.stepsizes``.

    Attributes:
        kind: The name of the schedule.
        formula: True if the stepsizes follow the paper's formulas in h. Otherwise they are the option times ``root``.
        t: The step numbers 0, …, T−1, (T,).
        T: The number of steps.
        n: The number of nodes.
        h: The horizon, (T,): t for ``diminishing`` (∞ at t = 0, so that every formula gives 0), T otherwise.
        root: The usual multiplier, (T,): √(n/h) for ``diminishing`` and ``fixed``, 1 for ``constant``.

    Example:
        >>> def stepsizes(at: Steps, eta: Positive = 0.01):
        ...     return {"eta": eta * at.n**0.25 / at.h**0.75 if at.formula else eta * at.root}
    """

    kind: str
    formula: bool
    t: np.ndarray
    T: int
    n: int
    h: np.ndarray
    root: np.ndarray

    @classmethod
    def of(cls, kind: str, n: int, T: int) -> Steps:
        """Return the steps of a registered schedule.

        Args:
            kind: The name of the schedule.
            n: The number of nodes.
            T: The number of steps.

        Returns:
            The quantities over all steps.

        Raises:
            UserError: No schedule has this name.

        Example:
            >>> Steps.of("fixed", n=4, T=100).root[0]
            0.2
        """
        t = np.arange(T, dtype=np.float64)
        shape, formula = schedules[kind]
        h, root = (np.broadcast_to(np.asarray(part, dtype=np.float64), (T,)) for part in shape(t, T, n))
        return cls(kind, formula, t, T, n, h, root)


def schedule(name: str, formula: bool = False) -> Callable[[Shape], Shape]:
    """Register a stepsize schedule. A decorator for a function ``(t, T, n) -> (h, root)``.

    The function receives the step numbers t, (T,), the number of steps T and the number of nodes n. It returns the
    horizon h and the multiplier ``root`` of the stepsize, each a number or an array (T,).

    Args:
        name: The name on the command line, ``algo.schedule=NAME``.
        formula: True if the stepsizes of a method follow the paper's formulas in h. Otherwise a stepsize is the
            option of the method times ``root``.

    Returns:
        A decorator that registers the function and returns it.

    Raises:
        UserError: The name is already registered.

    Example:
        >>> @schedule("linear")
        ... def linear(t, T, n):
        ...     return T, 1 - t / T
    """

    def decorate(shape: Shape) -> Shape:
        schedules.add(name, (shape, formula))
        return shape

    return decorate


@schedule("diminishing", formula=True)
def diminishing(t: np.ndarray, T: int, n: int) -> tuple[Any, Any]:
    """√(n/t), and 0 at t = 0: the first step only mixes."""
    h = np.where(t == 0, np.inf, t)
    return h, np.sqrt(n / h)


@schedule("fixed", formula=True)
def fixed(t: np.ndarray, T: int, n: int) -> tuple[Any, Any]:
    """√(n/T) at every step."""
    return T, np.sqrt(n / T)


@schedule("constant")
def constant(t: np.ndarray, T: int, n: int) -> tuple[Any, Any]:
    """1 at every step: the stepsize is η itself."""
    return T, 1.0


@schedule("warmup_step")
def warmup_step(t: np.ndarray, T: int, n: int) -> tuple[Any, Any]:
    """Linear warmup to 1 over the first 5 % of T, then 0.1 from T/2 and 0.01 from 3T/4."""
    rising = np.minimum(1.0, (t + 1) / max(1.0, WARM * T))
    return T, rising * STEP_BY ** sum((t >= part * T).astype(float) for part in STEP_AT)


class Schedule:
    """A table of stepsizes. ``schedule[t]`` is the stepsize of step t, (R, 1, 1), which broadcasts to any state."""

    def __init__(self, values: np.ndarray, dtype: torch.dtype, device: torch.device | str = "cpu") -> None:
        self.values = values  # (steps, R), float64, for the bounds of the theory
        self._table = torch.as_tensor(values, dtype=dtype, device=device)[:, :, None, None]
        self._rows = list(self._table.unbind(0))

    def __getitem__(self, t: int | StepIndex) -> Tensor:
        """Return the stepsizes of step t, (R, 1, 1)."""
        return t.pick(self._table) if isinstance(t, StepIndex) else self._rows[t]


def stepsize_tables(
    stepsizes: Callable[..., Mapping[str, Any]],
    replicas: Sequence[Mapping[str, Any]],
    nodes: int,
    steps: int,
    dtype: torch.dtype,
    device: torch.device | str = "cpu",
) -> dict[str, Schedule]:
    """Return one table per stepsize of a method; ``replicas`` holds each replica's stepsize options."""
    columns: dict[str, list[np.ndarray]] = {}
    for options in replicas:
        rest = {name: value for name, value in options.items() if name != "schedule"}
        at = Steps.of(options["schedule"], nodes, steps)
        for name, values in stepsizes(at, **rest).items():
            columns.setdefault(name, []).append(np.broadcast_to(values, (steps,)))
    return {name: Schedule(np.stack(cols, axis=1), dtype, device) for name, cols in columns.items()}
