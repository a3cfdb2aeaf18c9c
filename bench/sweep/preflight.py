"""Whether a run can be made: its parts are asked before the first one starts, and refuse what cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from bench.base.errors import Refused, UserError
from bench.base.registry import recipes
from bench.build.build import build_compressor, check_method, problem_parts
from bench.build.network import mixing_of, properties_of
from bench.config.run_config import RunConfig, parse
from bench.data.recipe import data_folder, prepare
from bench.engine.engines import engine_of
from bench.store.kinds import LONGEST
from bench.store.record import LATER
from bench.sweep.memory import problem_of
from bench.terminal.console import Console

DATA = (
    *("dataset", "partition", "model", "loss", "nodes", "batch_size", "seed", "scale", "input_scale"),
    *("init", "sampling", "eval_samples", "validation", "data_dir"),
)
"""What the parts of a problem depend on."""
_passed: set[str] = set()
"""Data that were in order: a sweep asks again and again."""


def check(config: RunConfig) -> None:
    """A UserError if this run cannot be."""
    engine_of(config).check(config)
    if (data := repr([getattr(config, name) for name in DATA])) not in _passed:
        check_data(config)
        _passed.add(data)
    for name, value in config.labels().items():  # after the data: the name of a run has the content of its file
        if isinstance(value, str) and len(value) > LONGEST:
            raise UserError(f"{name} must have at most {LONGEST} characters, got {len(value)}.")
    try:
        check_network(config)
    except UserError as error:
        raise Refused(str(error)) from error


def check_data(config: RunConfig) -> None:
    """The data is here, fetched if need be, and a problem can be made of it."""
    if config.dataset.name in recipes:
        _prepared(config.dataset.name, data_folder(config.data_dir))
    parts = problem_parts(config, [config.seed])
    for line in (*parts[0].notes, *parts[2].notes) if parts else ():
        _say_once(line)


def check_network(config: RunConfig) -> None:
    """There is a certified network, the method converges on it, and what it sends can be packed as asked."""
    mixing_of(config).must_serve(properties_of(config))
    if config.compressor.name != LATER["compressor"]:
        build_compressor(config, problem_of(config).layout.size)
    check_method(config)


@cache
def _say_once(line: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(line, markup=False)


@cache
def _prepared(name: str, folder: Path) -> None:
    """Fetched, if it is not there: by this process, before any rank is started."""
    prepare(name, folder, Console(stderr=True, highlight=False, soft_wrap=True))


def checked(values: Mapping[str, Any]) -> RunConfig:
    """A run that can be made here and now."""
    run = parse(values)
    check(run)
    return run


def checked_for_elsewhere(values: Mapping[str, Any]) -> RunConfig:
    """A run that can be made where it is sent: data and network are looked at here, a GPU need not be."""
    run = parse(values)
    check(run if torch.cuda.is_available() else replace(run, device="cpu"))
    return run
