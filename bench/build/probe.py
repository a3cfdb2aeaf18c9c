"""Values of the problems of plug-ins, to detect problems that differ between processes and commands.

A problem or a loss that draws with np.random or torch.rand is another one each time it is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.registry import datasets, losses, models, regularizers
from bench.build.build import summarize
from bench.build.fingerprint import is_plugin, is_plugin_model
from bench.build.material import is_problem, load_arrays, loss_of
from bench.config.run_config import RunConfig
from bench.problem.problem import Problem, Setting
from bench.problem.regularized import Regularized
from bench.problem.supervised import Supervised

Summary = list[list[float]]
Prepare = Callable[[str, Any], Any]
SETTINGS = ("dataset", "data_dir", "loss", "model", "regularizer", "nodes", "batch_size", "seed")
"""Settings that the values depend on."""
FUNCTIONS = ("grad", "full", "evaluate", "node_gradients", "node_losses")
"""The functions of a problem that receive points."""
HOSTED, SAMPLES = 2, 4
"""Nodes of a problem, and samples of a node of a dataset, that are enough for the values."""
CLOSE, FAR = 1e-6, 1e-4
"""Relative differences that rounding can explain: in float64, and on another machine also in float32."""
KEYED = (
    "Code of plug-ins must not use np.random.rand, torch.rand or the like. Draw with setting.draw in a problem, and "
    "with a generator that has a fixed seed in a loss or a regularizer, such as np.random.default_rng(0)."
)
_known: dict[str, Summary | None] = {}
"""Values by settings, since every run of a sweep needs them."""


def problem_plugins(config: RunConfig) -> list[str]:
    """Return the settings whose code of plug-ins computes the objective, except for a module of the user."""
    own = is_problem(datasets[config.dataset.name])
    groups: dict[str, Any] = {"dataset": datasets} if own else {"loss": losses, "model": models}
    groups["regularizer"] = regularizers
    names = {group: getattr(config, group).name for group in groups}
    return [f"{group}={name}" for group, name in names.items() if is_plugin(groups[group], name)]


def objective_plugins(config: RunConfig) -> dict[str, str]:
    """Return the names of the plug-ins that compute the objective, by setting, with the module of model=module."""
    named = dict(setting.split("=", 1) for setting in problem_plugins(config))
    own = is_problem(datasets[config.dataset.name])
    return named if own or not is_plugin_model(config) else {**named, "model": config.model.name}


def problem_summary(config: RunConfig) -> Summary | None:
    """Return ``new_summary`` of a run; None if no plug-in computes the objective."""
    key = config.key(*SETTINGS)
    if key not in _known:
        _known[key] = new_summary(config) if problem_plugins(config) else None
    return _known[key]


def new_summary(config: RunConfig, earlier: int = 0) -> Summary | None:
    """Build a small problem, and return the norm and a projection of its start, a gradient and an evaluation.

    Args:
        config: The run. Scaling and built-in regularizers are left out.
        earlier: Gradients that are computed before, which must not change the values.

    Returns:
        The values; None if the problem raises an error, which the run itself reports.
    """
    try:
        problem = probed(config)
        with torch.no_grad() if problem.autograd else torch.inference_mode():
            start = problem.start()
            x = nearby(start)
            for s in range(earlier):
                problem.grad(x, s + 1)
            gradient, evaluated = problem.grad(x, 0), problem.evaluate(x.mean(1)).flat()
            return summarize([part.double().cpu().numpy() for part in (start, gradient, evaluated)])
    except (Exception, SystemExit):  # a plug-in may raise anything
        return None


def nearby(start: Tensor) -> Tensor:
    """Return points that are no special points, such as zeros, of the objective."""
    return start + 0.1 * torch.cos(torch.arange(start.shape[-1], dtype=start.dtype))


def called(problem: Problem, name: str, x: Tensor, mean: Tensor) -> Any:
    """Return the result of one of ``FUNCTIONS`` at points of the nodes, (R, k, P), or at average points, (R, P)."""
    point = (mean if name in ("evaluate", "node_gradients") else x).clone()
    made = getattr(problem, name)(point, *([0] if name == "grad" else []))
    return list(made) if isinstance(made, Iterator) else made


def probed(config: RunConfig, prepare: Prepare = lambda group, part: part) -> Problem:
    """Return the problem of a run in float64, with few nodes and few samples."""
    nodes, size = (config.nodes, config.batch_size) if is_problem(datasets[config.dataset.name]) else (1, 2)
    hosted = range(min(nodes, HOSTED))
    setting = Setting(nodes, hosted, (config.seed,), size, torch.float64, torch.device("cpu"))
    return small_problem(config, setting, prepare)


def small_problem(config: RunConfig, setting: Setting, prepare: Prepare = lambda group, part: part) -> Problem:
    """Return the problem of a run with few samples, and with its regularizer if that is a plug-in.

    ``prepare`` receives the setting and the object of each part, such as a model, and returns the object to use.
    """
    if is_problem(datasets[config.dataset.name]):
        problem: Problem = datasets[config.dataset.name](setting, **config.dataset.options)
        problem = prepare("dataset", problem)
    else:
        arrays, loss = load_arrays(config), loss_of(config)
        model = models[config.model.name](arrays.train_x.shape[1:], loss.outputs[-1], **config.model.options)
        loss, model = prepare("loss", loss), prepare("model", model)
        samples = SAMPLES * setting.nodes
        parts = {name: getattr(arrays, name)[:samples].copy() for name in ("train_x", "train_y", "test_x", "test_y")}
        few = replace(arrays, **parts)
        split = np.array_split(np.arange(len(few.train_y)), setting.nodes)
        by_seed = [split] * len(setting.distinct_seeds)
        problem = Supervised(setting, few, by_seed, model, loss, "shared", "replacement")
    if is_plugin(regularizers, config.regularizer.name):
        by = regularizers[config.regularizer.name](**config.regularizer.options)
        return Regularized(problem, prepare("regularizer", by))
    return problem


def near(one: Sequence[Sequence[float]] | None, other: Sequence[Sequence[float]] | None, far: float = CLOSE) -> bool:
    """Return whether summaries agree up to rounding, which differs between kinds of processors."""
    ours, theirs = one or (), other or ()
    if [*map(len, ours)] != [*map(len, theirs)]:
        return False
    return all(abs(a - b) <= far * p[0] for p, q in zip(ours, theirs, strict=True) for a, b in zip(p, q, strict=True))
