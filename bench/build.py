"""From a configuration to the objects that run it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import torch

from bench.algorithm import Algorithm
from bench.config import Choice, RunConfig
from bench.loop import Outcome, evaluation_steps, train
from bench.metrics import Row
from bench.problem import Problem, Scaled, Setting
from bench.randomness import EVERYONE, generator
from bench.registry import datasets, models, partitions
from bench.schedules import tables
from bench.supervised import Arrays, Supervised
from bench.world import World


def run_in(
    world: World,
    configs: Sequence[RunConfig],
    record: Callable[[int, Row], None],
    tick: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """Run configurations that differ only in stepsizes, seed or graph, as replicas of one program."""
    first = configs[0]
    dtype, device = getattr(torch, first.dtype), torch.device(first.device)
    setting = Setting(first.nodes, world.hosted, tuple(c.seed for c in configs), first.batch_size, dtype, device)
    problem = build_problem(first, setting)
    algorithm = build_algorithm(configs, problem)
    due = evaluation_steps(first.steps, first.eval_every, first.eval_spacing)
    mixings = [config.mixing() for config in configs]
    with torch.no_grad() if problem.autograd else torch.inference_mode():
        return train(algorithm, problem, world, mixings, first.steps, due, record, tick)


def build_problem(config: RunConfig, setting: Setting) -> Problem:
    """The problem of a configuration, for the nodes and seeds of ``setting``."""
    entry = datasets[config.dataset.name]
    if is_problem(entry):
        problem: Problem = entry(setting, **config.dataset.options)
    else:
        arrays = load_arrays(config.dataset)
        split = [shards(config.dataset, config.partition, config.nodes, seed) for seed in setting.distinct_seeds]
        model = models[config.model.name](arrays.train_x.shape[1:], arrays.classes, **config.model.options)
        problem = Supervised(setting, arrays, split, model, config.init)
    return problem if config.scale == 1.0 else Scaled(problem, config.scale)


def build_algorithm(configs: Sequence[RunConfig], problem: Problem) -> Algorithm:
    """The method with a stepsize table over all replicas."""
    first, cls = configs[0], configs[0].algorithm
    stepsizes = [{name: c.algo.options[name] for name in cls.stepsize_options()} for c in configs]
    structure = {name: first.algo.options[name] for name in cls.structure_options()}
    setting = problem.setting
    schedules = tables(cls.stepsizes, stepsizes, first.nodes, first.steps, setting.dtype, setting.device)
    return cls(problem.layout, schedules, **structure)


def is_problem(entry: object) -> bool:
    """Whether a dataset is a problem of its own; if not, it is a function that returns Arrays."""
    return inspect.isclass(entry) and issubclass(entry, Problem)


def load_arrays(dataset: Choice) -> Arrays:
    return _load(dataset.name, tuple(sorted(dataset.options.items())))


@lru_cache(maxsize=4)
def _load(name: str, options: tuple[tuple[str, object], ...]) -> Arrays:
    return datasets[name](**dict(options))


def shards(dataset: Choice, partition: Choice, nodes: int, seed: int) -> list[np.ndarray]:
    """The rows of each node under one seed."""
    labels = load_arrays(dataset).train_y
    split = partitions[partition.name]
    return split(labels, nodes, generator(seed, EVERYONE, "partition"), **partition.options)
