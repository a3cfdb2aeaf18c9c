"""Check runs before the first one starts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.base.errors import Refused, UserError
from bench.base.registry import algorithms, datasets, metrics, recipes
from bench.build.build import build_compressor, check_method, problem_parts
from bench.build.derivatives import check_gradients
from bench.build.fingerprint import is_plugin
from bench.build.global_draws import GlobalDraws
from bench.build.hosted import check_hosted
from bench.build.in_place import check_in_place
from bench.build.material import columns_of, is_problem, load_again, load_arrays, same_arrays, shards_checksum
from bench.build.network import method_of, mixing_of, properties_of
from bench.build.probe import KEYED, near, new_summary, problem_plugins
from bench.build.rehearsal import rehearse
from bench.config.run_config import RunConfig, parse
from bench.data.recipe import data_folder, prepare
from bench.engine.engines import engine_of
from bench.method.schedules import Steps
from bench.problem.problem import Setting
from bench.store.kinds import EVALUATIONS, LONGEST
from bench.store.kinds import MOST as LABELS
from bench.store.record import COLUMNS, LATER
from bench.sweep.memory import problem_of
from bench.terminal.console import Console

DATA = (
    *("dataset", "partition", "model", "loss", "nodes", "batch_size", "seed", "scale", "input_scale"),
    *("init", "sampling", "eval_samples", "validation", "regularizer", "data_dir"),
)
"""Settings that determine the data of a problem."""
MOST = LABELS - 20
"""The largest number of options and metrics; a summary has further labels."""
_passed = set[Hashable]()
"""Data and problems that passed the check, so that a sweep checks them once."""


def check(config: RunConfig) -> None:
    """Raise a UserError if this run is invalid."""
    engine_of(config).check(config)
    if (count := config.steps // config.eval_every) > EVALUATIONS - 2:  # and the first and the last one
        least = config.steps // (EVALUATIONS - 2) + 1
        raise UserError(
            f"eval_every={config.eval_every} gives {count} evaluations, but the limit is {EVALUATIONS - 2}. "
            f"Type eval_every={least} or more."
        )
    if (data := config.key(*DATA)) not in _passed:
        check_data(config)
        _passed.add(data)
    for name, value in config.labels().items():  # after the data, since labels read data files
        if isinstance(value, str) and len(value) > LONGEST:
            raise UserError(f"{name} must have at most {LONGEST} characters, got {len(value)}.")
    try:
        check_network(config)
    except UserError as error:
        raise Refused(str(error)) from error
    if not is_plugin(algorithms, config.algo.name):  # a method may hang or exit: the process of its run does this
        rehearse(config)


def check_data(config: RunConfig) -> None:
    """Download missing data, and check that it makes a valid problem."""
    if config.dataset.name in recipes:
        _prepared(config.dataset.name, data_folder(config.data_dir))
    _check_arrays(config)
    _check_columns(config)
    check_in_place(config)  # first: other checks fail too, but their errors name other causes
    parts = problem_parts(config, [config.seed])
    _check_drawn(config)
    if shards_checksum(config) != shards_checksum(config):
        raise UserError(
            f"partition={config.partition.name} gives other shards each time. It must draw only with the generator "
            "that it receives."
        )
    if (plugins := problem_plugins(config)) and not near(new_summary(config), new_summary(config, earlier=1)):
        raise UserError(f"{' or '.join(plugins)} gives other losses or gradients each time. {KEYED}")
    check_hosted(config)
    check_gradients(config)
    for line in (*parts[0].notes, *parts[2].notes) if parts else ():
        _say_once(line)


def _check_arrays(config: RunConfig) -> None:
    """Raise ``UserError`` if a dataset function draws from a global generator that it has not seeded."""
    if is_problem(datasets[config.dataset.name]):
        return
    draws, arrays = GlobalDraws(), load_arrays(config)
    if draws.used() and not same_arrays(arrays, load_again(config)):
        raise UserError(
            f"dataset={config.dataset.name} gives other data each time. Draw with a generator with a fixed seed, such "
            "as np.random.default_rng(0)."
        )


def _check_columns(config: RunConfig) -> None:
    """Raise ``UserError`` if a metric has the name of an option of the method, or if both are too many."""
    if len(names := {*config.labels(), *COLUMNS, *columns_of(config), *metrics}) > MOST:
        raise UserError(
            f"The run has {len(names)} options and metrics, more than {MOST}. Remove metrics of plug-ins, or options."
        )
    if clash := sorted({*columns_of(config), *metrics} & {*config.labels()}):
        raise UserError(
            f"The metric '{clash[0]}' of a plug-in has the name of an option of algo={config.algo.name}. "
            "Rename the metric."
        )


def _check_drawn(config: RunConfig) -> None:
    """Raise ``UserError`` if a built-in problem that draws its data rejects its options or the number of nodes."""
    name, key = config.dataset.name, config.key("dataset", "nodes")
    if is_problem(datasets[name]) and not is_plugin(datasets, name) and key not in _passed:
        one = Setting(config.nodes, range(1), (config.seed,), config.batch_size, torch.float64, torch.device("cpu"))
        with suppress(MemoryError, RuntimeError):  # of torch, if memory is short: the run itself reports it
            datasets[name](one, **config.dataset.options)
        _passed.add(key)


def check_network(config: RunConfig) -> None:
    """Check that the method converges on the network, and that its messages can be compressed."""
    mixing_of(config).must_serve(properties_of(config))
    if config.compressor.name != LATER["compressor"]:
        build_compressor(config, problem_of(config).layout.size)
    check_method(config)
    if config.schedule_nodes not in (None, config.nodes) and _equal(
        _stepsizes(config, config.schedule_nodes), _stepsizes(config, config.nodes)
    ):
        _say_once(
            f"No stepsize of {config.algo.name} with algo.schedule={config.algo.options['schedule']} depends on the "
            f"number of nodes, so schedule_nodes={config.schedule_nodes} does not change its stepsizes."
        )
    _name_idle(config)


def _name_idle(config: RunConfig) -> None:
    """Name an option of the stepsizes that the schedule does not use, once for every method and schedule."""
    name, schedule = config.algo.name, config.algo.options["schedule"]
    for option, kind in method_of(config).stepsize_options().items():
        value, usual, key = config.algo.options[option], kind.default, (name, schedule, option)
        if value != usual and option != "schedule" and key not in _passed:
            _passed.add(key)
            if _equal(_stepsizes(config, config.nodes), _stepsizes(config, config.nodes, **{option: usual})):
                _say_once(
                    f"algo.{option}={value} changes no number of {name} with algo.schedule={schedule}: the stepsizes "
                    f"are those of {option}={usual}."
                )


def _stepsizes(config: RunConfig, nodes: int, **others: Any) -> Mapping[str, Any]:
    """Return the stepsizes of a method with this number of nodes and other values of some options."""
    cls, options = method_of(config), {**config.algo.options, **others}
    rest = {name: options[name] for name in cls.stepsize_options() if name != "schedule"}
    return cls.stepsizes(Steps.of(options["schedule"], nodes, config.steps), **rest)


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)


@cache
def _say_once(line: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(line, markup=False)


@cache
def _prepared(name: str, folder: Path) -> None:
    """Download a dataset if it is missing, before any rank starts."""
    prepare(name, folder, Console(stderr=True, highlight=False, soft_wrap=True))


def checked(values: Mapping[str, Any]) -> RunConfig:
    """Return a run after all checks."""
    run = parse(values)
    check(run)
    return run


def checked_for_elsewhere(values: Mapping[str, Any]) -> RunConfig:
    """Return a run for another machine after all checks, but without the need for a GPU on this one."""
    run = parse(values)
    check(run if torch.cuda.is_available() else replace(run, device="cpu"))
    return run
