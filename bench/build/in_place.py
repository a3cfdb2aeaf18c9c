"""Detects functions of plug-ins that change their arguments in place.

The arguments are tensors that the run uses again: the average point, the states of the nodes, the data.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.build.probe import FUNCTIONS, called, nearby, objective_plugins, probed
from bench.config.run_config import RunConfig

CALLS = {
    "dataset": FUNCTIONS,
    "loss": ("each", "delta"),
    "model": ("forward", "linearize"),
    "regularizer": ("value", "gradient", "prox"),
}
"""The functions of each kind of plug-in that receive tensors of the run."""


def check_in_place(config: RunConfig) -> None:
    """Raise ``UserError`` if a function of a plug-in that computes the objective changes an argument.

    Code that raises an error is skipped: the run itself reports it.
    """
    changed: list[tuple[str, str]] = []
    with suppress(Exception, SystemExit):  # a plug-in may raise anything
        if plugins := objective_plugins(config):
            _call(config, _Watch(plugins, changed))
    if changed:
        function, argument = changed[0]
        raise UserError(
            f"{function} changes its argument {argument} in place, which makes other numbers of the run wrong. Use "
            "operations that return a new tensor, such as `a = a - 1` for `a -= 1`, and `a.square()` for "
            "`a.square_()`. Views such as `a.flatten(1)`, and `a.double()` of a float64 tensor, are no copies."
        )


def _call(config: RunConfig, watch: _Watch) -> None:
    """Call all functions of a small problem."""
    problem = probed(config, watch.part)
    with torch.no_grad() if problem.autograd else torch.inference_mode():
        x = nearby(problem.start())
        for name in FUNCTIONS:
            with suppress(Exception, SystemExit):
                called(problem, name, x, x.mean(1))
        if problem.prox is not None:
            problem.prox(x.clone(), 0.1)


class _Watch:
    """Adds each function that changes an argument, as in loss=mine: each, and the name of this argument to a list."""

    def __init__(self, plugins: Mapping[str, str], changed: list[tuple[str, str]]) -> None:
        self._plugins, self._changed = plugins, changed

    def part(self, group: str, part: Any) -> Any:
        """Return a copy of this object whose functions are watched, if it is the plug-in's."""
        if group not in self._plugins:
            return part
        part = copy.copy(part)  # a plug-in may return the same loss to a run
        owner, busy = f"{group}={self._plugins[group]}", set[str]()
        for name in CALLS[group]:
            vars(part)[name] = self._watched(getattr(part, name), f"{owner}: {name}", busy)
        if group == "loss":
            scores = part.scores

            def watched() -> Any:
                each = ((name, score, f"{owner}: the score {name}") for name, score in scores().items())
                return {name: replace(score, each=self._watched(score.each, by, busy)) for name, score, by in each}

            vars(part)["scores"] = watched
        return part

    def _watched(self, function: Callable[..., Any], name: str, busy: set[str]) -> Callable[..., Any]:
        """Return this function with a comparison of its arguments before and after the call.

        Calls inside another call of the same object are not compared: tracing a model replaces its tensors.
        """
        parameters = list(inspect.signature(function).parameters)

        def call(*args: Any, **named: Any) -> Any:
            if busy:
                return function(*args, **named)
            given = {**dict(zip(parameters, args, strict=False)), **named}
            before = {parameter: [part.clone() for part in _tensors(value)] for parameter, value in given.items()}
            busy.add(name)
            try:
                made = function(*args, **named)
                return iter(list(made)) if isinstance(made, Iterator) else made
            finally:
                busy.discard(name)
                for parameter, value in given.items():
                    if not all(map(_same, before[parameter], _tensors(value))):
                        self._changed.append((name, parameter))

        return call


def _tensors(value: Any) -> list[Tensor]:
    parts = value.values() if isinstance(value, Mapping) else [value]
    return [part for part in parts if isinstance(part, Tensor)]


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool(((one == other) | (one.isnan() & other.isnan())).all())
