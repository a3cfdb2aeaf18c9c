"""The data of a configuration, and their partition among the nodes."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.base.errors import UserError
from bench.base.randomness import EVERYONE, generator
from bench.base.registry import algorithms, datasets, losses, partitions, recipes
from bench.build.rates import rates_of
from bench.config.inputs import Input, check_unedited
from bench.config.run_config import RunConfig
from bench.data.recipe import PARTS, checksum, data_folder, load
from bench.problem.arrays import Arrays, sound
from bench.problem.losses import Loss, columns
from bench.problem.problem import Column, Problem
from bench.store.kinds import is_free
from bench.training.events import TIMED


def is_problem(entry: object) -> bool:
    """Return whether a dataset is a problem of its own, rather than a function that returns Arrays."""
    return inspect.isclass(entry) and issubclass(entry, Problem)


def load_arrays(config: RunConfig) -> Arrays:
    """Return the dataset. Downloaded datasets must have been prepared."""
    return _load(*_key(config))


def load_again(config: RunConfig) -> Arrays:
    """Return the dataset, made again."""
    return _load.__wrapped__(*_key(config))


def same_arrays(one: Arrays, other: Arrays) -> bool:
    """Return whether two datasets are equal, also in mean and standard deviation."""
    return all(np.array_equal(value, getattr(other, name)) for name, value in vars(one).items())


def _key(config: RunConfig) -> tuple[str, tuple[tuple[str, object], ...], Path, tuple[Input, ...]]:
    options = {name: tuple(v) if isinstance(v, list) else v for name, v in config.dataset.options.items()}
    folder = data_folder(config.data_dir) if config.dataset.name in recipes else Path()  # others need none
    return config.dataset.name, tuple(sorted(options.items())), folder, config.inputs_of("dataset")


@lru_cache(maxsize=4)
def _load(name: str, options: tuple[tuple[str, object], ...], folder: Path, inputs: tuple[Input, ...]) -> Arrays:
    prepared = (load(name, folder),) if name in recipes else ()
    with in_words(f"dataset={name} cannot be made"):
        arrays = _read_only(sound(name, datasets[name](*prepared, **dict(options))))
    check_unedited(inputs)
    return arrays


def _read_only(arrays: Arrays) -> Arrays:
    """Return views that plug-ins cannot change: all runs of a process share the arrays."""
    views = {part: getattr(arrays, part).view() for part in PARTS}
    for view in views.values():
        view.setflags(write=False)
    return replace(arrays, **views)


def loss_of(config: RunConfig) -> Loss:
    """Return the loss on the data of a configuration; raise ``UserError`` if it does not fit them."""
    with in_words(f"loss={config.loss.name} cannot be made for dataset={config.dataset.name}"):
        made: Loss = losses[config.loss.name](load_arrays(config), **config.loss.options)
        return made


def columns_of(config: RunConfig) -> Mapping[str, Column]:
    """Return the further columns that the problem of a configuration measures."""
    entry = datasets[config.dataset.name]
    own = entry.columns if is_problem(entry) else columns(loss_of(config), config.validation > 0)
    if is_problem(entry) and rates_of(config) is not None:
        own = {**own, **entry.network_columns}
    if taken := [name for name in own if not is_free(name)]:
        raise UserError(
            f"dataset={config.dataset.name} cannot have a column '{taken[0]}'. "
            "The name must be an identifier that is not a column or label already."
        )
    return {**own, **TIMED} if algorithms[config.algo.name].properties.asynchronous else own


@contextmanager
def in_words(what: str) -> Iterator[None]:
    """Raise the errors of a plug-in's part as ``UserError``."""
    try:
        yield
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(f"{what}: {type(error).__name__}: {error}") from error


def shards(config: RunConfig, seed: int) -> list[np.ndarray]:
    """Return the rows of each node for one seed; raise ``UserError`` if a shard is smaller than a mini-batch."""
    split = _divided(config, seed)
    smallest = min(map(len, split))
    if smallest == 0:
        samples = len(load_arrays(config).train_y)
        raise UserError(
            f"The {samples} samples of {config.dataset.name} do not give each of {config.nodes} nodes at least one."
        )
    if config.batch_size > smallest:
        remedy = f"set batch_size={smallest}{_larger_alpha(config, seed)} or use fewer nodes"
        raise UserError(
            f"batch_size={config.batch_size} is larger than the smallest shard, {smallest} "
            f"sample{'s' * (smallest != 1)}; {remedy}."
        )
    return split


def _divided(config: RunConfig, seed: int) -> list[np.ndarray]:
    """Return the rows that the partition gives each node; raise ``UserError`` if they are invalid."""
    kept, name = _kept(config), config.partition.name
    labels = load_arrays(config).strata()[kept]
    g = generator(seed, EVERYONE, "partition")
    with in_words(f"partition={name} cannot divide {len(labels)} samples among {config.nodes} nodes"):
        split = [np.asarray(rows) for rows in partitions[name](labels, config.nodes, g, **config.partition.options)]
        if len(split) != config.nodes:
            raise UserError(f"partition={name} gives {len(split)} shards for {config.nodes} nodes.")
        times = np.bincount(np.concatenate(split), minlength=len(labels))
        if len(times) != len(labels) or (times != 1).any():
            raise UserError(f"partition={name} must give each of the rows 0 … {len(labels) - 1} to exactly one node.")
    return [kept[rows] for rows in split]


def held_out(config: RunConfig) -> np.ndarray | None:
    """Return the validation rows of the training data, which no node uses; they do not depend on the seed."""
    if not config.validation:
        return None
    count = len(load_arrays(config).train_y)
    aside = round(config.validation * count)
    if not 1 <= aside < count:
        raise UserError(
            f"validation is a fraction of the training samples. validation={config.validation:g} sets aside {aside} of "
            f"{count} samples; it must set aside 1 to {count - 1}."
        )
    return np.sort(generator(0, EVERYONE, "validation").permutation(count)[:aside])


def _kept(config: RunConfig) -> np.ndarray:
    """Return the rows that are divided among the nodes."""
    rows = np.arange(len(load_arrays(config).train_y))
    return rows if (aside := held_out(config)) is None else np.delete(rows, aside)


ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def _larger_alpha(config: RunConfig, seed: int) -> str:
    """Return a remedy: the smallest round alpha with which every shard has a mini-batch."""
    now = config.partition.options.get("alpha")
    for alpha in (value for value in ALPHAS if now is not None and value > now):
        options = {**config.partition.options, "alpha": alpha}
        smallest = min(map(len, _divided(replace(config, partition=replace(config.partition, options=options)), seed)))
        if smallest >= config.batch_size:
            return f" or partition.alpha={alpha:g} (smallest shard: {smallest})"
    return ""


def describe_data(config: RunConfig) -> dict[str, object]:
    """Return the entry of the manifest: the checksum of the data, and the samples of each node by class."""
    sha256 = data_checksum(config)
    if sha256 is None:
        return {"sha256": None}
    arrays = load_arrays(config)
    counts = class_counts(arrays, shards(config, config.seed))
    samples = counts.sum(axis=1).tolist()
    facts = {"sha256": sha256, "attributes": attributes(config), "samples": samples, "classes": counts.tolist()}
    if config.eval_samples is not None:
        facts["evaluated"] = [min(config.eval_samples, held) for held in samples]
    if (aside := held_out(config)) is not None:
        facts["validation"] = len(aside)
    if arrays.notes:
        facts["prepared"] = list(arrays.notes)
    return facts


def data_checksum(config: RunConfig) -> str | None:
    """Return the checksum of the arrays of a run; None if its problem draws the data."""
    return None if is_problem(datasets[config.dataset.name]) else _checksum(load_arrays(config))


def attributes(config: RunConfig) -> dict[str, Any] | None:
    """Return what determines the use of the arrays beside their values; None if the problem draws the data."""
    if is_problem(datasets[config.dataset.name]):
        return None
    arrays = load_arrays(config)
    whole = {name: None if (value := getattr(arrays, name)) is None else int(value) for name in ("classes", "crops")}
    return {**whole, **{name: float(getattr(arrays, name)) for name in ("mean", "sd", "unit")}, "tokens": arrays.tokens}


def shards_checksum(config: RunConfig) -> str | None:
    """Return the checksum of the rows of each node; None if the problem draws the data."""
    if is_problem(datasets[config.dataset.name]):
        return None
    digest = hashlib.sha256()
    for rows in shards(config, config.seed):
        digest.update(f"{len(rows)} ".encode() + np.ascontiguousarray(rows, dtype=np.int64).tobytes())
    return digest.hexdigest()


def class_counts(arrays: Arrays, split: Sequence[np.ndarray]) -> np.ndarray:
    """Return the number of samples by node and class; without classes, by stratum of the partition."""
    kinds = arrays.strata()
    count = int(kinds.max()) + 1 if arrays.classes is None or arrays.train_y.ndim > 1 else arrays.classes
    return np.stack([np.bincount(kinds[rows], minlength=count) for rows in split])


@lru_cache(maxsize=4)
def _checksum(arrays: Arrays) -> str:
    return checksum({part: getattr(arrays, part) for part in PARTS})
