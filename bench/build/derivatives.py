"""Checks of the formulas of a plug-in's loss and regularizer: gradients, and values that do not affect each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.registry import datasets, losses, regularizers
from bench.build.fingerprint import is_plugin
from bench.build.material import is_problem, load_arrays, loss_of
from bench.build.probe import probed
from bench.config.run_config import RunConfig
from bench.problem.losses import Loss
from bench.problem.regularized import Regularizer

FAR = 1e-3
"""The relative difference from which a formula is wrong: code may round to float32, or iterate up to a tolerance."""
STEP = 1e-4
"""The length of the steps of finite differences."""
MODELS, SAMPLES = 2, 3
LARGEST = 1_000_000
"""Parameters up to which a regularizer is checked."""
Function = Callable[[Tensor], Tensor]


def check_gradients(config: RunConfig) -> None:
    """Raise ``UserError`` if a formula of a plug-in's loss or regularizer is wrong at random points.

    Code that raises an error is skipped: the run itself reports it.
    """
    checks: list[Callable[[RunConfig], str | None]] = []
    if is_plugin(losses, config.loss.name) and not is_problem(datasets[config.dataset.name]):
        checks.append(_wrong_loss)
    if is_plugin(regularizers, config.regularizer.name):
        checks.append(_wrong_regularizer)
    for check in checks:
        try:
            wrong = check(config)
        except (Exception, SystemExit):  # a plug-in may raise anything
            continue
        if wrong:
            raise UserError(wrong)


def _wrong_loss(config: RunConfig) -> str | None:
    """Return what is wrong with ``each`` or ``delta`` of the loss; None if nothing is."""
    loss, arrays, name = loss_of(config), load_arrays(config), f"loss={config.loss.name}"
    rows = np.arange(MODELS * SAMPLES) % len(arrays.train_y)
    kind = torch.float64 if arrays.classes is None else torch.int64
    y = torch.as_tensor(arrays.train_y[rows], dtype=kind).unflatten(0, (MODELS, SAMPLES))
    weights: Tensor = 0.5 + torch.linspace(0, 1, MODELS * SAMPLES, dtype=torch.float64).view(MODELS, SAMPLES)
    for out in _points((MODELS, SAMPLES, *loss.outputs)):
        if not _alike(loss.each(out.clone(), y.clone())[:1], loss.each(out[:1].clone(), y[:1].clone())):
            return f"{name}: each gives the samples of a model other losses if there are other models. {_axes('each')}"
        for weight in (weights, 0.5) if type(loss).delta is not Loss.delta else ():
            given = loss.delta(out.clone(), y.clone(), weight.clone() if isinstance(weight, Tensor) else weight)

            def total(at: Tensor, weight: Tensor | float = weight) -> Tensor:
                return (loss.each(at, y.clone()) * weight).sum()

            if ratio := _wrong(total, given, out):
                return (
                    f"{name}: delta is not the gradient of Σ weight · each: {ratio}. Correct delta, or write "
                    "`delta = Loss.delta`, which uses autograd."
                )
    return None


def _wrong_regularizer(config: RunConfig) -> str | None:
    """Return what is wrong with ``value``, ``gradient`` or ``prox`` of the regularizer; None if nothing is."""
    by: Regularizer = regularizers[config.regularizer.name](**config.regularizer.options)
    name, size = f"regularizer={config.regularizer.name}", probed(config).layout.size
    if size > LARGEST:
        return None
    formula: Function = by.gradient if by.smooth else lambda x: by.prox(x, 0.1)
    for x in _points((MODELS, SAMPLES, size)):
        for part, function in (("value", by.value), ("gradient" if by.smooth else "prox", formula)):
            if not _alike(function(x.clone())[:1, :1], function(x[:1, :1].clone())):
                return f"{name}: {part} gives a vector another result if there are other vectors. {_axes(part)}"
        if by.smooth and (ratio := _wrong(lambda at: by.value(at).sum(), by.gradient(x.clone()), x)):
            return f"{name}: gradient is not the gradient of value: {ratio}. Correct one of them."
    return None


def _axes(part: str) -> str:
    last = "the axes of the outputs" if part == "each" else "the last axis"
    return f"Reduce over {last} only, as in x.sum(dim=-1)."


def _points(shape: tuple[int, ...]) -> Iterator[Tensor]:
    """Yield random points: of both signs, and positive ones, since a formula may not be defined elsewhere."""
    g = np.random.default_rng(0)
    yield torch.as_tensor(g.standard_normal(shape))
    yield torch.as_tensor(0.1 + 0.8 * g.random(shape))


def _alike(one: Tensor, other: Tensor) -> bool:
    """Return whether two results agree, or have another shape or infinite entries, which this cannot judge."""
    if one.shape != other.shape or not (torch.isfinite(one).all() and torch.isfinite(other).all()):
        return True
    return float((one - other).abs().max()) <= FAR * float(torch.maximum(one.abs(), other.abs()).max())


def _wrong(function: Function, given: Tensor, x: Tensor) -> str | None:
    """Return how a gradient differs from that of ``function`` at x; None if it does not.

    Autograd and finite differences must both contradict it, since a function may detach some of its values.
    """
    with torch.inference_mode(False), torch.enable_grad():
        leaf = x.clone().requires_grad_()
        (true,) = torch.autograd.grad(function(leaf), leaf)
    given = given.detach().double()
    if given.shape != x.shape or not (torch.isfinite(given).all() and torch.isfinite(true).all()):
        return None
    difference = true - given
    largest = max(float(true.norm()), float(given.norm()))
    if (apart := float(difference.norm())) <= FAR * largest:
        return None
    along = difference / apart
    slope = float(function(x + STEP * along) - function(x - STEP * along)) / (2 * STEP)
    if abs(slope - float((true * along).sum())) > 0.1 * abs(slope - float((given * along).sum())):
        return None
    return f"its norm at a random point is {float(given.norm()):.3g}, that of autograd {float(true.norm()):.3g}"
