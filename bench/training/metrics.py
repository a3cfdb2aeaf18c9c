"""What is measured, at the average point x̄ unless said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.registry import metrics
from bench.method.declaration import Declaration
from bench.problem.problem import Column, Problem
from bench.store.record import COLUMNS, Row
from bench.training.world import World


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
    own: dict[str, np.ndarray] = field(default_factory=dict)  # of plug-ins; none of them makes a run diverge

    @property
    def finite(self) -> np.ndarray:
        """Per replica: is the run still a run?"""
        values = [value for name, value in vars(self).items() if name != "own" and value is not None]
        return np.isfinite(np.stack(values)).all(axis=0)

    def row(self, r: int) -> Row:
        """The columns of replica ``r`` that this measurement knows."""
        columns = {**{name: values for name, values in vars(self).items() if name != "own"}, **self.own}
        row: Row = {name: None if values is None else float(values[r]) for name, values in columns.items()}
        row["stationarity"] = row["grad_norm"] * row["grad_norm"]  # ** would raise where this overflows
        if row["test_accuracy"] is not None and not np.isfinite(row["test_accuracy"]):
            row["test_accuracy"] = None  # argmax of NaN is class 0: not an accuracy
        return row


@dataclass(frozen=True)
class View:
    """What a metric of one's own may look at, in double precision; R replicas, P parameters."""

    x: Tensor  # the average point x̄, (R, P)
    gradient: Tensor  # ∇f(x̄) on all data, (R, P)
    train_loss: Tensor  # (R,)
    test_loss: Tensor  # (R,)
    state: Any  # the method's own, (R, k, P) a field, of the k nodes that this process hosts
    nodes: int  # of the whole network
    problem: Problem
    total: Callable[[Tensor], Tensor]  # the sum over processes: of what the hosted nodes gave, that over all nodes


@dataclass(frozen=True)
class Metric:
    label: str
    more_is_better: bool | None
    function: Callable[[View], Tensor]


def metric(
    name: str, label: str | None = None, more_is_better: bool | None = None
) -> Callable[[Callable[[View], Tensor]], Callable[[View], Tensor]]:
    """Add a column: a function of a View that gives a number for each replica, shape (R,). Of one that does not say
    which way is better there is no best: nothing is tuned by it, and none is bold."""
    if name in COLUMNS or name.startswith(("test_", "val_")) or not name.isidentifier():
        raise UserError(
            f"A metric cannot be called '{name}': that is a column already, or begins as one (test_, val_), or is no "
            "single word."
        )

    def decorate(function: Callable[[View], Tensor]) -> Callable[[View], Tensor]:
        metrics.add(name, Metric(label or name.replace("_", " "), more_is_better, function))
        return function

    return decorate


def describe_metrics(columns: Mapping[str, Column]) -> dict[str, Any]:
    """What the columns of a run beside those that all have are called, and which way is up: those of its problem, and
    then those of plug-ins."""
    own = {name: metrics[name] for name in metrics}
    known: dict[str, Column | Metric] = {**columns, **own}
    return {
        name: {"label": one.label, "more_is_better": one.more_is_better, **({PLUGIN: True} if name in own else {})}
        for name, one in known.items()
    }


PLUGIN = "plugin"


def plugin_metrics(described: Mapping[str, Any]) -> list[str]:
    """The metrics of plug-ins among those that a manifest describes."""
    return [name for name, one in described.items() if one.get(PLUGIN)]


def _own(view: View) -> dict[str, np.ndarray]:
    """The metrics of plug-ins, in the same order on every process."""
    out = {}
    for name in metrics:
        value = metrics[name].function(view)
        if not isinstance(value, Tensor) or value.shape != view.x.shape[:1]:
            got = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise UserError(f"The metric '{name}' gave {got}; it must be one number per replica, ({len(view.x)},).")
        out[name] = _numpy(value.double())
    return out


def measured_states(declaration: Declaration) -> list[str]:
    """The fields of a state that something is measured of."""
    named = ("x", declaration.averages, declaration.estimates, declaration.report)
    return list(dict.fromkeys(name for name in named if name))


def measure(state: Any, problem: Problem, world: World, declaration: Declaration) -> Measurement:
    """Two exchanges: one for the means over nodes, one for the shares of everything else."""
    n = world.nodes
    spread = [name for name in ("x", declaration.averages) if name]
    states = {name: getattr(state, name).double() for name in measured_states(declaration)}
    flat = world.total(torch.cat([value.sum(1) for value in states.values()], dim=-1)) / n
    widths = [value.shape[-1] for value in states.values()]
    means = dict(zip(states, flat.split(widths, dim=-1), strict=True))
    point = means[declaration.report or "x"]

    evaluation = problem.evaluate(point)
    shapes = [tuple(part.shape) for part in (evaluation.train_loss, evaluation.test_loss, evaluation.gradient)]
    if shapes != [(len(flat),)] * 2 + [tuple(point.shape)]:
        raise UserError(f"The problem's losses and gradient at points {tuple(point.shape)} have shapes {shapes}.")
    spreads = [_spread(states[name], means[name]) / n for name in spread]
    shares = torch.cat([torch.stack(spreads, dim=1), evaluation.flat()], dim=1)
    totals = world.total(shares)
    evaluation = evaluation.unflat(totals[:, len(spreads) :])

    apart = evaluation.gradient  # where all of f has one; else how far a proximal step of length 1 leads
    if problem.prox is not None:
        apart = point - problem.prox(point - evaluation.gradient, 1.0)
    tracking = None
    if declaration.estimates is not None:
        tracking = _numpy(torch.linalg.vector_norm(means[declaration.estimates] - evaluation.gradient, dim=-1))
    losses = (evaluation.train_loss, evaluation.test_loss)
    view = View(point, evaluation.gradient, *losses, state, n, problem, world.total)
    return Measurement(
        train_loss=_numpy(evaluation.train_loss),
        test_loss=_numpy(evaluation.test_loss),
        test_accuracy=None if evaluation.test_correct is None else 100 * _numpy(evaluation.test_correct),
        grad_norm=_numpy(torch.linalg.vector_norm(apart, dim=-1)),
        consensus=_numpy(totals[:, 0]),
        consensus_z=_numpy(totals[:, 1]) if declaration.averages else None,
        tracking_error=tracking,
        own={**{n: problem.columns[n].finish(_numpy(mean)) for n, mean in evaluation.also.items()}, **_own(view)},
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
