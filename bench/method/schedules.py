"""Stepsizes as tables over steps and replicas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

Kind = Literal["diminishing", "fixed", "constant"]


class Schedule:
    """``schedule[t]`` is the stepsize of step t, shaped (R, 1, 1) so that it meets any state."""

    def __init__(self, values: np.ndarray, dtype: torch.dtype, device: torch.device | str = "cpu") -> None:
        self.values = values  # (steps, R), float64: what theory's bounds are computed from
        table = torch.as_tensor(values, dtype=dtype, device=device)
        self._rows = list(table[:, :, None, None].unbind(0))

    def __getitem__(self, t: int) -> Tensor:
        return self._rows[t]


def horizon(kind: Kind, steps: int) -> np.ndarray:
    """The h of the formulas for t = 0 … steps−1: t when diminishing, T when fixed.

    At t = 0 a diminishing schedule has h = ∞: every formula of the paper is then 0, as it says.
    """
    if kind == "diminishing":
        return np.concatenate([[np.inf], np.arange(1, steps, dtype=np.float64)])
    return np.full(steps, float(steps))


def tables(
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
        kind: Kind = options["schedule"]
        for name, values in stepsizes(kind, nodes, horizon(kind, steps), **rest).items():
            columns.setdefault(name, []).append(np.broadcast_to(values, (steps,)))
    return {name: Schedule(np.stack(cols, axis=1), dtype, device) for name, cols in columns.items()}
