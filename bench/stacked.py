"""The stacked engine: all nodes of all replicas in one process, as one tensor program."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from bench.algorithm import Algorithm
from bench.config import RunConfig
from bench.loop import Outcome, evaluation_steps, train
from bench.metrics import Row
from bench.mixing import DenseMixer
from bench.problem import Problem, Scaled, Setting
from bench.registry import datasets
from bench.schedules import tables
from bench.world import OneProcess


def run(configs: Sequence[RunConfig], record: Callable[[int, Row], None]) -> list[Outcome]:
    """Run configurations that differ only in stepsizes, seed or graph, as replicas of one program."""
    first = configs[0]
    dtype, device = getattr(torch, first.dtype), torch.device(first.device)
    mixings = [config.mixing() for config in configs]
    world = OneProcess(first.nodes, DenseMixer(mixings, dtype, device))
    setting = Setting(first.nodes, world.hosted, tuple(c.seed for c in configs), first.batch_size, dtype, device)
    problem = build_problem(first, setting)
    algorithm = build_algorithm(configs, problem)
    due = evaluation_steps(first.steps, first.eval_every, first.eval_spacing)
    with torch.no_grad():
        return train(algorithm, problem, world, mixings, first.steps, due, record)


def build_problem(config: RunConfig, setting: Setting) -> Problem:
    problem: Problem = datasets[config.dataset.name](setting, **config.dataset.options)
    return problem if config.scale == 1.0 else Scaled(problem, config.scale)


def build_algorithm(configs: Sequence[RunConfig], problem: Problem) -> Algorithm:
    """The method with a stepsize table over all replicas."""
    first, cls = configs[0], configs[0].algorithm
    stepsizes = [{name: c.algo.options[name] for name in cls.stepsize_options()} for c in configs]
    structure = {name: first.algo.options[name] for name in cls.structure_options()}
    setting = problem.setting
    schedules = tables(cls.stepsizes, stepsizes, first.nodes, first.steps, setting.dtype, setting.device)
    return cls(problem.layout, schedules, **structure)
