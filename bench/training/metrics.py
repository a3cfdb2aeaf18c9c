"""Metrics of a run, at the average point x̄ unless stated otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.registry import metrics
from bench.method.properties import Properties
from bench.problem.problem import Column, Problem
from bench.store.kinds import is_free
from bench.store.record import Row
from bench.training.agreement import must_agree
from bench.training.hosting import Hosting


@dataclass(frozen=True)
class Measurement:
    """The metrics of all replicas after some step. Every array has one entry per replica, (R,)."""

    train_loss: np.ndarray
    test_loss: np.ndarray
    test_accuracy: np.ndarray | None  # percent
    node_loss: np.ndarray | None  # None: the problem does not define it
    grad_norm: np.ndarray
    consensus: np.ndarray
    consensus_z: np.ndarray | None
    tracking_error: np.ndarray | None
    own: dict[str, np.ndarray] = field(default_factory=dict)  # of plug-ins; they do not affect the state of a run

    @property
    def _builtin(self) -> dict[str, np.ndarray | None]:
        return {name: values for name, values in vars(self).items() if name != "own"}

    @property
    def finite(self) -> np.ndarray:
        """Whether all metrics of a replica are finite, (R,). A node loss does not end a run: x̄ may still be good."""
        at_mean = [values for name, values in self._builtin.items() if name != "node_loss" and values is not None]
        return np.isfinite(np.stack(at_mean)).all(axis=0)

    def row(self, r: int) -> Row:
        """Return the columns of replica ``r``."""
        columns = {**self._builtin, **self.own}
        row: Row = {name: None if values is None else float(values[r]) for name, values in columns.items()}
        row["stationarity"] = row["grad_norm"] * row["grad_norm"]  # ** would raise where this overflows
        if row["test_accuracy"] is not None and not np.isfinite(row["test_accuracy"]):
            row["test_accuracy"] = None  # argmax of NaN is class 0: not an accuracy
        return row


@dataclass(frozen=True)
class View:
    """The argument of a metric: R replicas, P parameters, k nodes hosted by this process.

    Its tensors are copies, but ``problem`` is the problem of the run: never modify it in place.

    Attributes:
        x: The average points x̄, (R, P), float64.
        gradient: ∇f(x̄) on all data, (R, P), float64.
        train_loss: f(x̄), (R,), float64.
        test_loss: The test loss at x̄, (R,), float64.
        state: The state of the method, with fields (R, k, P), in the dtype of the run.
        nodes: Nodes of the whole network.
        problem: The problem, with what it knows, such as the minimizer.
        total: Sums a tensor over processes: from a sum over the hosted nodes to one over all nodes.
    """

    x: Tensor
    gradient: Tensor
    train_loss: Tensor
    test_loss: Tensor
    state: Any
    nodes: int
    problem: Problem
    total: Callable[[Tensor], Tensor]

    def copied(self) -> View:
        """Return a view for one metric, which may change the tensors in place: neither run nor other metrics see it."""
        tensors = {name: getattr(self, name).clone() for name in ("x", "gradient", "train_loss", "test_loss")}
        return replace(self, **tensors, state=type(self.state)(*(part.clone() for part in self.state)))


@dataclass(frozen=True)
class Metric:
    """A registered metric, with the arguments of ``metric``."""

    label: str
    more_is_better: bool | None
    function: Callable[[View], Tensor]


def metric(
    name: str, label: str | None = None, more_is_better: bool | None = None
) -> Callable[[Callable[[View], Tensor]], Callable[[View], Tensor]]:
    """Register a metric, a column of all later runs. A decorator for a function from a ``View`` to (R,).

    Args:
        name: The name of the column: an identifier that is not a column or label yet and does not begin with test_ or
            val_.
        label: The name in figures and tables. Default: ``name`` with spaces.
        more_is_better: Whether larger values are better. None: the metric is not used for tuning, and tables do not
            mark a best value.

    Returns:
        A decorator that registers the function and returns it.

    Raises:
        UserError: The name is invalid or already registered.

    Example:
        >>> @metric("traveled", label="distance from the origin")
        ... def traveled(view: View) -> Tensor:
        ...     return torch.linalg.vector_norm(view.x, dim=-1)
    """
    if not is_free(name) or name.startswith(("test_", "val_")):
        raise UserError(
            f"A metric cannot be called '{name}'. The name must be an identifier that is not a column or label already "
            "and does not begin with test_ or val_."
        )

    def decorate(function: Callable[[View], Tensor]) -> Callable[[View], Tensor]:
        metrics.add(name, Metric(label or name.replace("_", " "), more_is_better, function))
        return function

    return decorate


def describe_metrics(columns: Mapping[str, Column]) -> dict[str, Any]:
    """Return labels and directions of the further columns of a run: those of its problem, then those of plug-ins."""
    own = {name: metrics[name] for name in metrics}
    known: dict[str, Column | Metric] = {**columns, **own}
    return {
        name: {"label": one.label, "more_is_better": one.more_is_better, **({PLUGIN: True} if name in own else {})}
        for name, one in known.items()
    }


PLUGIN = "plugin"


def plugin_metrics(described: Mapping[str, Any]) -> list[str]:
    """Return the metrics of plug-ins among those that a manifest describes."""
    return [name for name, one in described.items() if one.get(PLUGIN)]


def _own(view: View) -> dict[str, np.ndarray]:
    """Return the metrics of plug-ins, in the same order on every process."""
    out = {}
    for name in metrics:
        value = metrics[name].function(view.copied())
        if not isinstance(value, Tensor) or value.shape != view.x.shape[:1]:
            got = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise UserError(f"The metric '{name}' must return a tensor of shape ({len(view.x)},), got {got}.")
        out[name] = _numpy(value.double())
    return out


def measured_states(declaration: Properties) -> list[str]:
    """Return the fields of a state that metrics use."""
    named = ("x", declaration.averages, declaration.estimates, declaration.report)
    return list(dict.fromkeys(name for name in named if name))


def measure(state: Any, problem: Problem, hosting: Hosting, declaration: Properties) -> Measurement:
    """Return the metrics of a state, by three exchanges: means over nodes, shares of other metrics, the node loss."""
    n = hosting.nodes
    states = {name: getattr(state, name).double() for name in measured_states(declaration)}
    flat = hosting.total(torch.cat([value.sum(1) for value in states.values()], dim=-1)) / n
    widths = [value.shape[-1] for value in states.values()]
    means = dict(zip(states, flat.split(widths, dim=-1), strict=True))
    point = means[declaration.report or "x"]

    evaluation = problem.evaluate(point)
    shapes = [tuple(part.shape) for part in (evaluation.train_loss, evaluation.test_loss, evaluation.gradient)]
    if shapes != [(len(flat),)] * 2 + [tuple(point.shape)]:
        raise UserError(
            f"The problem's losses and gradient at points {tuple(point.shape)} have wrong shapes: {shapes}."
        )
    spread = [name for name in ("x", declaration.averages) if name]
    spreads = [(states[name] - means[name].unsqueeze(1)).square().sum(dim=(1, 2)) / n for name in spread]
    totals = hosting.total(torch.cat([torch.stack(spreads, dim=1), evaluation.flat()], dim=1))
    evaluation = evaluation.unflat(totals[:, len(spreads) :])

    stationarity = evaluation.gradient
    if problem.prox is not None:  # f + r: the change by a proximal step of length 1
        stationarity = point - problem.prox(point - evaluation.gradient, 1.0)
    tracking = None
    if declaration.estimates is not None:
        tracking = _numpy(torch.linalg.vector_norm(means[declaration.estimates] - evaluation.gradient, dim=-1))
    at_nodes = _node_loss(states[declaration.report or "x"], problem, hosting)
    losses = evaluation.train_loss, evaluation.test_loss
    own = _own(View(point, evaluation.gradient, *losses, state, n, problem, hosting.total))
    must_agree(own, hosting)
    return Measurement(
        train_loss=_numpy(evaluation.train_loss),
        test_loss=_numpy(evaluation.test_loss),
        test_accuracy=None if evaluation.test_correct is None else 100 * _numpy(evaluation.test_correct),
        node_loss=None if at_nodes is None else _numpy(at_nodes),
        grad_norm=_numpy(torch.linalg.vector_norm(stationarity, dim=-1)),
        consensus=_numpy(totals[:, 0]),
        consensus_z=_numpy(totals[:, 1]) if declaration.averages else None,
        tracking_error=tracking,
        own={**{n: problem.columns[n].finish(_numpy(mean)) for n, mean in evaluation.also.items()}, **own},
    )


def _node_loss(x: Tensor, problem: Problem, hosting: Hosting) -> Tensor | None:
    """Return the mean over all nodes of the loss at each node's own point, (R,).

    The exchange is of its own, since the order of an MPI sum, and so the last digits, may depend on its length.
    """
    losses = problem.node_losses(x)
    if losses is None:
        return None
    if losses.shape != x.shape[:2]:
        raise UserError(f"The problem's node losses must have shape {tuple(x.shape[:2])}, got {tuple(losses.shape)}.")
    return hosting.total(losses.double().sum(1)) / hosting.nodes


def heterogeneity(x: Tensor, problem: Problem, hosting: Hosting) -> list[float | None]:
    """Return ζ² = (1/n) Σ ‖∇f_i(x̄) − ∇f(x̄)‖² of every replica; None if there are no exact gradients."""
    mean = hosting.total(x.double().sum(1)) / hosting.nodes
    gradients = problem.node_gradients(mean)
    if gradients is None:
        return [None] * len(x)
    total = torch.zeros(len(x), 1 + mean.shape[1], dtype=torch.float64, device=x.device)
    for gradient in gradients:
        total[:, 0] += gradient.square().sum(-1)
        total[:, 1:] += gradient
    total = hosting.total(total) / hosting.nodes
    zeta = total[:, 0] - total[:, 1:].square().sum(-1)
    return [max(0.0, value) for value in zeta.tolist()]


def _numpy(x: Tensor) -> np.ndarray:
    return x.cpu().numpy()
