"""Whether the parts of a run fit together: asked of every run before the first one starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from bench.base.errors import UserError
from bench.base.registry import datasets, recipes
from bench.config.run_config import RunConfig, parse
from bench.data.recipe import data_folder, prepare
from bench.engine.build import build_model, is_problem, load_arrays, shards
from bench.engine.launch import launcher
from bench.method.algorithm import Algorithm
from bench.network.mixing import Mixing

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
DATA = ("dataset", "partition", "model", "nodes", "batch_size", "seed", "init", "sampling", "data_dir")
"""What check_data looks at."""
_passed: set[str] = set()
"""Data that were in order: a sweep asks again and again."""


def check(config: RunConfig) -> None:
    """A UserError if this run cannot be."""
    if config.scale <= 0:
        raise UserError(f"scale multiplies f and must be positive; got {config.scale:g}.")
    check_machine(config)
    if (data := repr([getattr(config, name) for name in DATA])) not in _passed:
        check_data(config)
        _passed.add(data)
    check_fit(config.algorithm, config.mixing())


def check_machine(config: RunConfig) -> None:
    """What the run is to be made on is there."""
    if config.device == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda, but torch finds no GPU here; use device=cpu.")
    if config.engine.name == "mpi":
        if config.ranks and config.ranks > config.nodes:
            raise UserError(f"ranks={config.ranks} is more than nodes={config.nodes}: some ranks would host nobody.")
        launcher(config.engine.options["launch"])
    elif config.ranks:
        raise UserError(f"ranks={config.ranks} is for engine=mpi; engine={config.engine.name} is one process.")


def check_fit(algorithm: type[Algorithm], mixing: Mixing) -> None:
    """Refuse a method on a matrix that it does not converge with."""
    name, least = algorithm.declaration.name, algorithm.declaration.lambda_min
    if least is None:
        return
    lambda_n = mixing.certificate.lambda_n
    if mixing.certificate.biased:
        raise UserError(f"{name} needs a symmetric matrix; '{mixing.name}' is not.")
    if lambda_n is None:
        raise UserError(
            f"{name} needs one matrix with smallest eigenvalue above {least:.4g}; '{mixing.name}' changes every "
            "round, and nothing is known of it then. Use a static topology."
        )
    if lambda_n <= least + 1e-9:
        raise UserError(
            f"{name} needs the smallest eigenvalue of W above {least:.4g}; '{mixing.name}' with {mixing.nodes} nodes "
            f"has {lambda_n:.4g}. Use topology.lazy=true, which takes (I + W)/2."
        )


def check_data(config: RunConfig) -> None:
    """The data is here; model and partition make sense for it, and every node can fill a mini-batch."""
    name = config.dataset.name
    if is_problem(datasets[name]):
        given = config.model.name, config.partition.name, config.init, config.sampling
        if given != ("linear", "even", "shared", "replacement"):
            raise UserError(
                f"dataset={name} brings its own model, start and samples: leave out model, partition, init, sampling."
            )
        if config.eval_samples is not None:
            raise UserError(f"dataset={name} has no shards to measure a part of: leave out eval_samples.")
        return
    if name in recipes:
        _prepared(name, data_folder(config.data_dir))
    arrays = load_arrays(config)
    build_model(config, arrays)
    samples, smallest = len(arrays.train_y), _smallest_shard(config)
    if smallest == 0:
        raise UserError(f"The {samples} samples of {name} do not give each of {config.nodes} nodes at least one.")
    if config.batch_size > smallest:
        raise UserError(
            f"batch_size={config.batch_size} is larger than the smallest shard, {smallest} "
            f"sample{'s' * (smallest != 1)}; set batch_size={smallest}{_larger_alpha(config)} or take fewer nodes."
        )


@cache
def _prepared(name: str, folder: Path) -> None:
    """Fetched, if it is not there: by this process, before any rank is started."""
    prepare(name, folder, Console(stderr=True, highlight=False, soft_wrap=True))


def _larger_alpha(config: RunConfig) -> str:
    """The least unevenness, of round values, with which the smallest shard holds a batch, as it would be typed."""
    now = config.partition.options.get("alpha")
    for alpha in (value for value in ALPHAS if now is not None and value > now):
        options = {**config.partition.options, "alpha": alpha}
        smallest = _smallest_shard(replace(config, partition=replace(config.partition, options=options)))
        if smallest >= config.batch_size:
            return f" or partition.alpha={alpha:g} (there it has {smallest})"
    return ""


def _smallest_shard(config: RunConfig) -> int:
    return min(len(rows) for rows in shards(config, config.seed))


def checked(values: Mapping[str, Any]) -> RunConfig:
    """A run that can be made here and now."""
    run = parse(values)
    check(run)
    return run
