"""How much memory and time a run is likely to take."""

from __future__ import annotations

import torch

from bench.base.memory import free_memory
from bench.config.run_config import RunConfig
from bench.engine.build import build_problem
from bench.engine.engines import engine_of
from bench.problem.problem import Problem, Setting

OPERATIONS, PER_SECOND, STEP_S = 60, 1.2e10, 1e-4
"""Operations per number that a gradient needs, how many a core does in a second, and the least a step takes."""
VECTORS = 16
"""Parameter vectors per node that are alive at the busiest moment of a step: two states and what lies between."""


FIXED = 300_000_000
"""Bytes for pieces of the data under evaluation, blocks of samples and the like."""


def sized(config: RunConfig) -> Problem | None:
    """The problem of one run; None where it cannot be built, which the run itself will then say."""
    try:
        return problem_of(config)
    except KeyboardInterrupt:
        raise
    except BaseException:  # anything a dataset may raise
        return None


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
    return config.nodes * (VECTORS * problem.layout.size + problem.work) * itemsize + tables


def run_seconds(config: RunConfig, problem: Problem | None) -> float:
    """A rough guess for one core."""
    if problem is None:
        return 0.0
    return config.steps * (STEP_S + config.nodes * problem.work * OPERATIONS / PER_SECOND)


def budget(config: RunConfig) -> float:
    """Bytes that all groups under way may take together."""
    given = engine_of(config).memory_gb
    if given is not None:
        return given * 1e9
    if config.device == "cuda":
        return 0.8 * torch.cuda.mem_get_info()[0]
    return 0.5 * free_memory()
