"""Estimate the memory and time of a run."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from bench.base.machine import free_memory
from bench.base.registry import metrics
from bench.build.build import build_algorithm, build_problem
from bench.build.events import graph_of
from bench.config.run_config import RunConfig
from bench.engine.engines import engine_of
from bench.method.asynchronous import Asynchronous
from bench.method.trajectory import blank_state
from bench.problem.problem import Problem, Setting
from bench.training.metrics import measured_states

OPERATIONS, PER_SECOND, STEP_S = 60, 1.2e10, 1e-4
"""Operations of a gradient per number, operations of a core per second, and minimal seconds of a step."""
SPARE = 2
"""Parameter vectors per node for temporary results of a step."""
FIXED = 300_000_000
"""Bytes for batches of data in evaluations, blocks of samples and the like."""
SMALL_GPU = 6e9
"""Assumed free bytes of a GPU of a cluster; engine.memory_gb overrides it."""


class Size(NamedTuple):
    """The estimated size of one run."""

    bytes: float  # added to the peak by one more replica
    seconds: float  # of one core


def sized(config: RunConfig) -> Size:
    """Estimate the size of one run; infinite if it cannot be built, which the run itself reports."""
    try:
        problem = problem_of(config)
        seconds = config.steps * (STEP_S + config.nodes * problem.work * OPERATIONS / PER_SECOND)
        return Size(bytes_per_replica(config, problem), seconds)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a dataset or a method may raise anything
        return Size(math.inf, 0.0)


def problem_of(config: RunConfig) -> Problem:
    """Return the problem of one run on the CPU, to read its size."""
    dtype, cpu = getattr(torch, config.dtype), torch.device("cpu")
    hosted = range(config.nodes)
    return build_problem(config, Setting(config.nodes, hosted, (config.seed,), config.batch_size, dtype, cpu))


def bytes_per_replica(config: RunConfig, problem: Problem) -> int:
    """Return the bytes that one more replica adds to the peak."""
    itemsize = problem.setting.dtype.itemsize
    tables = 2 * config.steps * itemsize
    vectors = math.ceil(vectors_alive(config, problem))
    return config.nodes * (vectors * problem.layout.size + problem.work) * itemsize + tables


def vectors_alive(config: RunConfig, problem: Problem) -> float:
    """Return the peak number of parameter vectors per node.

    The state that a resumed run started from is always in memory. A step adds the old and the new state and the sent
    vectors. An evaluation adds the state, its measured parts in double precision, twice their distances from the mean,
    and the copy of the state for a metric of a plug-in.
    """
    algorithm = build_algorithm([config], problem, steps=1)
    nodes = 1
    if isinstance(algorithm, Asynchronous):
        algorithm.graph, nodes = graph_of(config), config.nodes
    x = torch.zeros(1, nodes, problem.layout.size, dtype=problem.setting.dtype, device="meta" if nodes > 1 else "cpu")
    state = blank_state(algorithm, x)
    held = sum(tensor.numel() for tensor in state) / x.numel()
    held += 2 + algorithm.properties.vectors_per_step if nodes > 1 else 0  # gradients, their points and messages
    measured = len(measured_states(algorithm.properties))
    double = torch.float64.itemsize / x.dtype.itemsize
    step = 2 * held + algorithm.properties.vectors_per_step
    evaluation = held + double * (2 + (measured if double > 1 else 0)) + (held if [*metrics] else 0)
    return held + max(step, evaluation) + SPARE


def budget(config: RunConfig, machine: float | None = None) -> float:
    """Return the bytes for all running groups, on this machine or on one with ``machine`` bytes of main memory."""
    given = engine_of(config).memory_gb
    if given is not None:
        return given * 1e9
    if config.device == "cuda":
        return 0.8 * torch.cuda.mem_get_info()[0] if torch.cuda.is_available() else SMALL_GPU
    return 0.5 * (free_memory() if machine is None else machine)
