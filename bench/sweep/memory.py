"""How much memory and time a run is likely to take."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from bench.base.machine import free_memory
from bench.build.build import build_algorithm, build_problem
from bench.config.run_config import RunConfig
from bench.engine.engines import engine_of
from bench.method.trajectory import blank_state
from bench.problem.problem import Problem, Setting
from bench.training.metrics import measured_states

OPERATIONS, PER_SECOND, STEP_S = 60, 1.2e10, 1e-4
"""Operations per number that a gradient needs, how many a core does in a second, and the least a step takes."""
SPARE = 2
"""Parameter vectors per node for what lies between the lines of a step."""
FIXED = 300_000_000
"""Bytes for pieces of the data under evaluation, blocks of samples and the like."""
SMALL_GPU = 6e9
"""Bytes that a GPU has free which cannot be asked, as that of a cluster; engine.memory_gb knows better."""


class Size(NamedTuple):
    """What one run is likely to take."""

    bytes: float  # that one more replica adds to the peak
    seconds: float  # of one core


def sized(config: RunConfig) -> Size:
    """The size of one run; beyond all bounds where it cannot be built, which the run itself will then say."""
    try:
        problem = problem_of(config)
        return Size(bytes_per_replica(config, problem), run_seconds(config, problem))
    except KeyboardInterrupt:
        raise
    except BaseException:  # anything a dataset or a method may raise
        return Size(math.inf, 0.0)


def problem_of(config: RunConfig) -> Problem:
    """The problem of one run, on the CPU: to be asked about its size, not to be run."""
    dtype = getattr(torch, config.dtype)
    hosted = range(config.nodes)
    return build_problem(config, Setting(config.nodes, hosted, (config.seed,), config.batch_size, dtype, CPU))


CPU = torch.device("cpu")


def bytes_per_replica(config: RunConfig, problem: Problem) -> int:
    """What one more replica adds to the peak."""
    itemsize = problem.setting.dtype.itemsize
    tables = 2 * config.steps * itemsize
    vectors = math.ceil(vectors_alive(config, problem))
    return config.nodes * (vectors * problem.layout.size + problem.work) * itemsize + tables


def vectors_alive(config: RunConfig, problem: Problem) -> float:
    """Parameter vectors per node at the busiest moment, counted in the states that the method has.

    The state that a resumed run came from is there all the time; besides, in a step the old state, the new one and
    what is sent; in an evaluation the state, in double precision what is measured of it, and its distances from the
    mean, twice.
    """
    algorithm = build_algorithm([config], problem, steps=1)
    x = torch.zeros(1, 1, problem.layout.size, dtype=problem.setting.dtype)
    state = blank_state(algorithm, x)
    held = sum(tensor.numel() for tensor in state) / x.numel()
    measured = len(measured_states(algorithm.properties))
    double = torch.float64.itemsize / x.dtype.itemsize
    step = 2 * held + algorithm.properties.vectors_per_step
    evaluation = held + double * (2 + (measured if double > 1 else 0))
    return held + max(step, evaluation) + SPARE


def run_seconds(config: RunConfig, problem: Problem) -> float:
    """A rough guess for one core."""
    return config.steps * (STEP_S + config.nodes * problem.work * OPERATIONS / PER_SECOND)


def budget(config: RunConfig, machine: float | None = None) -> float:
    """Bytes that all groups under way may take together, on this machine or on one with so much main memory."""
    given = engine_of(config).memory_gb
    if given is not None:
        return given * 1e9
    if config.device == "cuda":
        return 0.8 * torch.cuda.mem_get_info()[0] if torch.cuda.is_available() else SMALL_GPU
    return 0.5 * (free_memory() if machine is None else machine)
