"""What is measured, at the average point x̄ unless said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.algorithm import Declaration
from bench.problem import Problem
from bench.registry import UserError
from bench.world import World

Row = dict[str, Any]
"""One line of the metrics: a value, or None where a column has no meaning, for every name in COLUMNS."""


@dataclass(frozen=True)
class Measurement:
    """The state of all replicas after some step; every array has one entry per replica."""

    train_loss: np.ndarray
    test_loss: np.ndarray
    test_accuracy: np.ndarray | None  # percent
    grad_norm: np.ndarray
    consensus: np.ndarray
    consensus_z: np.ndarray | None
    tracking_error: np.ndarray | None

    @property
    def finite(self) -> np.ndarray:
        """Per replica: is the run still a run?"""
        values = [value for value in vars(self).values() if value is not None]
        return np.isfinite(np.stack(values)).all(axis=0)

    def row(self, r: int) -> Row:
        """The columns of replica ``r`` that this measurement knows."""
        row: Row = {name: None if values is None else float(values[r]) for name, values in vars(self).items()}
        row["stationarity"] = row["grad_norm"] * row["grad_norm"]  # ** would raise where this overflows
        if row["test_accuracy"] is not None and not np.isfinite(row["test_accuracy"]):
            row["test_accuracy"] = None  # argmax of NaN is class 0: not an accuracy
        return row


def measure(state: Any, problem: Problem, world: World, declaration: Declaration) -> Measurement:
    """Two exchanges: one for the means over nodes, one for the shares of everything else."""
    n = world.nodes
    wanted = [name for name in state._fields if name in ("x", "z", declaration.estimates)]
    states = {name: getattr(state, name).double() for name in wanted}
    flat = world.total(torch.cat([value.sum(1) for value in states.values()], dim=-1)) / n
    means = dict(zip(states, flat.split(problem.layout.size, dim=-1), strict=True))

    evaluation = problem.evaluate(means["x"])
    shapes = [tuple(part.shape) for part in (evaluation.train_loss, evaluation.test_loss, evaluation.gradient)]
    if shapes != [(len(flat),)] * 2 + [tuple(means["x"].shape)]:
        raise UserError(f"The problem's losses and gradient at points {tuple(means['x'].shape)} have shapes {shapes}.")
    spreads = [_spread(states[name], means[name]) / n for name in ("x", "z") if name in states]
    shares = torch.cat([torch.stack(spreads, dim=1), evaluation.flat()], dim=1)
    totals = world.total(shares)
    evaluation = evaluation.unflat(totals[:, len(spreads) :])

    tracking = None
    if declaration.estimates is not None:
        tracking = _numpy(torch.linalg.vector_norm(means[declaration.estimates] - evaluation.gradient, dim=-1))
    return Measurement(
        train_loss=_numpy(evaluation.train_loss),
        test_loss=_numpy(evaluation.test_loss),
        test_accuracy=None if evaluation.test_correct is None else 100 * _numpy(evaluation.test_correct),
        grad_norm=_numpy(torch.linalg.vector_norm(evaluation.gradient, dim=-1)),
        consensus=_numpy(totals[:, 0]),
        consensus_z=_numpy(totals[:, 1]) if "z" in states else None,
        tracking_error=tracking,
    )


def heterogeneity(x: Tensor, problem: Problem, world: World) -> list[float | None]:
    """ζ² = (1/n) Σ ‖∇f_i(x̄) − ∇f(x̄)‖² of every replica; None where the problem cannot tell."""
    mean = world.total(x.double().sum(1)) / world.nodes
    total = torch.zeros(len(x), 1 + mean.shape[1], dtype=torch.float64, device=x.device)
    gradients = problem.node_gradients(mean)
    if gradients is None:
        return [None] * len(x)
    for gradient in gradients:
        total[:, 0] += gradient.square().sum(-1)
        total[:, 1:] += gradient
    total = world.total(total) / world.nodes
    zeta = total[:, 0] - total[:, 1:].square().sum(-1)
    return [max(0.0, value) for value in zeta.tolist()]


def _spread(x: Tensor, mean: Tensor) -> Tensor:
    return (x - mean.unsqueeze(1)).square().sum(dim=(1, 2))


def _numpy(x: Tensor) -> np.ndarray:
    return x.cpu().numpy()
