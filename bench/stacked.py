"""The stacked engine: all nodes of all replicas in one process, as one tensor program."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from bench.backend import prepare
from bench.build import build_algorithm, build_problem
from bench.config import RunConfig
from bench.loop import Outcome, evaluation_steps, train
from bench.metrics import Row
from bench.mixing import make_mixer
from bench.problem import Setting
from bench.world import OneProcess


def run(configs: Sequence[RunConfig], record: Callable[[int, Row], None]) -> list[Outcome]:
    """Run configurations that differ only in stepsizes, seed or graph, as replicas of one program."""
    prepare()
    first = configs[0]
    dtype, device = getattr(torch, first.dtype), torch.device(first.device)
    mixings = [config.mixing() for config in configs]
    world = OneProcess(first.nodes, make_mixer(mixings, dtype, device))
    setting = Setting(first.nodes, world.hosted, tuple(c.seed for c in configs), first.batch_size, dtype, device)
    problem = build_problem(first, setting)
    algorithm = build_algorithm(configs, problem)
    due = evaluation_steps(first.steps, first.eval_every, first.eval_spacing)
    with torch.no_grad():
        return train(algorithm, problem, world, mixings, first.steps, due, record)
