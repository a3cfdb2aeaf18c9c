"""From the command line to a list of runs: expand experiments, check everything, drop duplicates."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import hydra
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

from bench.check import check
from bench.compose import CONF, HYDRA_ERRORS, plain, sentence, with_plugins
from bench.config import GROUPS, RunConfig, parse
from bench.registry import UserError

Make = Callable[[Mapping[str, Any]], RunConfig]


def checked(values: Mapping[str, Any]) -> RunConfig:
    """A run that can be made here and now."""
    run = parse(values)
    check(run)
    return run


def plan(config: DictConfig, overrides: Sequence[str], make: Make = checked) -> list[RunConfig]:
    """The runs of one composed configuration: itself, or those of its experiment.

    ``overrides`` is what the user typed; it wins over what an experiment says. Needs Hydra to be
    initialised, as it is inside a Hydra task.
    """
    values = plain(config)
    experiment = values.pop("experiment", None)
    if experiment is None:
        return [make(values)]
    typed = [override for override in overrides if not override.startswith(("experiment=", "experiment."))]
    return [run for block in blocks_of(experiment) for run in expand(block, typed, make)]


def blocks_of(experiment: Any) -> list[dict[str, Any]]:
    """The grids of an experiment: each block on top of what is ``common`` to all.

    In the size ``quick``, what is written under ``quick``, for all or in a block, replaces what a block has.
    """
    parts = experiment if isinstance(experiment, dict) else {}
    blocks, common, quick = parts.get("blocks"), parts.get("common", {}), parts.get("quick", {})
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in (*blocks, common, quick)):
        raise UserError("An experiment is a list of 'blocks', each a mapping from settings to values.")
    if (size := parts.get("size", "full")) not in ("full", "quick"):
        raise UserError(f"experiment.size is full or quick; got {size!r}.")
    out = []
    for block in blocks:
        own = {**common, **block}
        smaller = {**quick, **own.pop("quick", {})}
        out.append({key: smaller.get(key, value) if size == "quick" else value for key, value in own.items()})
    return out


def expand(block: Mapping[str, Any], typed: Sequence[str] = (), make: Make = checked) -> list[RunConfig]:
    """All combinations of one block: a list is swept, anything else is set.

    Hydra composes once per combination of group members; plain values are then filled in, which is
    a hundred times faster than composing each run.
    """
    settled = {override.lstrip("+~").split("=", 1)[0] for override in typed}
    axes = {key: value if isinstance(value, list) else [value] for key, value in block.items() if key not in settled}
    groups = {key: axes.pop(key) for key in GROUPS if key in axes}
    runs = []
    for members in _product(groups):
        chosen = [f"{group}={member}" for group, member in members.items()]
        base = plain(hydra.compose("config", overrides=[*chosen, *typed]))
        base.pop("experiment", None)
        for point in _product(axes):
            values = copy.deepcopy(base)
            for key, value in point.items():
                _set(values, key, value)
            runs.append(make(values))
    return runs


def unique(runs: Iterable[RunConfig]) -> list[RunConfig]:
    """Each run once, in the order of first appearance."""
    return list({run.run_id: run for run in runs}.values())


def same_run_twice(runs: Sequence[RunConfig]) -> str | None:
    """A sentence, if some of these differ only in how or where they are made: that makes no second run."""
    last = {run.run_id: run.plain() for run in runs}
    lost = sum(run.plain() != last[run.run_id] for run in runs)
    if not lost:
        return None
    return (
        f"{lost} of {len(runs)} configurations are the same run as another and differ only in how it is made (engine, "
        "ranks, results and the like): only the last of each is made."
    )


def of_command(words: Sequence[str]) -> list[RunConfig]:
    """The runs that a command line of run.py stands for, without asking whether they can be made here."""
    words = with_plugins([word for word in words if word not in ("-m", "--multirun")])
    try:
        parser = OverridesParser.create()
        (sweep,) = BasicSweeper.split_arguments(parser.parse_overrides(words), max_batch_size=None)
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            return unique(run for typed in sweep for run in plan(hydra.compose("config", typed), typed, parse))
    except HYDRA_ERRORS as error:
        raise UserError(sentence(error, words)) from error


def _product(axes: Mapping[str, Sequence[Any]]) -> Iterable[dict[str, Any]]:
    return (dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values()))


def _set(values: dict[str, Any], key: str, value: Any) -> None:
    *parents, leaf = key.split(".")
    for parent in parents:
        if not isinstance(values.get(parent), dict):
            raise UserError(f"There is no setting called '{key}'.")
        values = values[parent]
    values[leaf] = value
