"""From the command line to a list of runs: expand sweeps and experiments, check everything, drop duplicates.

Hydra composes once per combination of group members; plain values are filled in afterwards, which is
hundreds of times faster than composing each run.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import hydra
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from bench.base.errors import Refused, UserError
from bench.base.options import NoOption
from bench.config.compose import hydra_here, prepared, resolved, several_values
from bench.config.experiment import axes_of, blocks_of
from bench.config.names import check_names
from bench.config.parsing import is_choice, is_plain
from bench.config.run_config import GROUPS, RunConfig, parse
from bench.config.source import USUAL, Source

Make = Callable[[Mapping[str, Any]], RunConfig]
Say = Callable[[int, int], None]
"""Told how many configurations are made, of how many."""
BLOCKS = (
    "Where each has options of its own, write an experiment with a block for each, as conf/experiment/example.yaml."
)
REASONS = 12
"""Different reasons for refusing a configuration that are said at most."""


def of_command(
    words: Sequence[str],
    make: Make = parse,
    several: bool = True,
    say: Say = lambda made, of: None,
    left_out: Counter[str] | None = None,
    source: Source = USUAL,
) -> list[RunConfig]:
    """The runs that a command line of run.py stands for, with duplicates.

    With ``parse`` nobody asks whether they can be made here; ``several`` allows sweeps. Combinations that are refused
    are counted in ``left_out``, by reason, where it is given and others can be made.
    """
    source, words = prepared(words, source)
    with hydra_here(words, source):
        return Planner(make, say, left_out, source.name).runs(jobs_of(words, several))


def jobs_of(words: Sequence[str], several: bool) -> list[list[str]]:
    """The words of each configuration of a sweep, in Hydra's order. Needs Hydra to be initialized."""
    loader = GlobalHydra.instance().config_loader()
    overrides = OverridesParser.create(loader).parse_overrides(list(words))
    for override in overrides:
        if override.is_sweep_override():
            if not several:
                raise UserError(several_values(str(override.input_line)))
            if not override.is_discrete_sweep():
                raise UserError(f"{override.input_line} is no list: name the values, or use range(START,STOP,STEP).")
    if not several:
        return [list(words)]
    (jobs,) = BasicSweeper.split_arguments(overrides, max_batch_size=None)
    if not jobs:
        raise UserError("The sweep is empty: one of its settings has no value.")
    if any("${hydra:" in word for word in words):
        return [[*job, f"hydra.job.num={number}"] for number, job in enumerate(jobs)]
    return jobs


class Base(NamedTuple):
    """What Hydra made of a combination of group members."""

    values: dict[str, Any]
    experiment: Any
    refers: bool  # one value to another, so that it can be known only when all are filled in
    hydra: DictConfig  # what ${hydra:...} refers to


class Point(NamedTuple):
    """One configuration: a base, and the plain values on top of it."""

    base: Base
    given: Mapping[str, Any]

    def values(self) -> dict[str, Any]:
        values = copy.deepcopy(self.base.values)
        for key, value in self.given.items():
            _set(values, key, value)
        if not self.base.refers:
            return values
        HydraConfig.instance().set_config(self.base.hydra)
        return resolved(OmegaConf.create(values))


class Planner:
    """Makes the runs of a command; each combination of group members is composed once."""

    def __init__(self, make: Make, say: Say, left_out: Counter[str] | None, name: str) -> None:
        self._make, self._say, self._left_out, self._name = make, say, left_out, name
        self._bases: dict[tuple[str, ...], Base] = {}
        self._parsed: dict[str, Override] = {}
        self._parser = OverridesParser.create()
        self._total = 0

    def runs(self, jobs: Sequence[Sequence[str]]) -> list[RunConfig]:
        """Those of every job, which is the words of one configuration or experiment."""
        self._total = len(jobs)
        return self.made(point for words in jobs for point in self.points(words))

    def made(self, points: Iterable[Point]) -> list[RunConfig]:
        """The configurations, or the reasons why they cannot be."""
        out: list[RunConfig] = []
        refused, left_out = Counter[str](), Counter[str]()
        lacking = False
        for number, point in enumerate(points):
            self._say(number, self._total)
            try:
                out.append(self._make(point.values()))
            except UserError as error:
                (left_out if isinstance(error, Refused) else refused)[str(error)] += 1
                lacking |= isinstance(error, NoOption)
        if self._left_out is not None and out and not refused:
            self._left_out.update(left_out)
            return out
        if refused := refused + left_out:
            more = [f"… and {len(refused) - REASONS} other reasons."] if len(refused) > REASONS else []
            more += [BLOCKS] if lacking and out else []
            raise UserError("\n".join([*list(refused)[:REASONS], *more]))
        return out

    def points(self, words: Sequence[str]) -> Iterator[Point]:
        """The configurations of one job."""
        composed, given = self.divide(words)
        base = self.base(composed)
        if base.experiment is None:
            yield Point(base, given)
            return
        if base.refers and given:  # the experiment may ask for a value that was typed
            base = self.base(words)
        typed = [word for word in words if not word.lstrip("+~").startswith(("experiment=", "experiment."))]
        name = next((word for word in words if word.startswith("experiment=")), "The experiment")
        self._must_set_nothing_else(name, base, [word for word in composed if word in typed])
        blocks = blocks_of(base.experiment, name)
        settled = self.keys(typed)
        self._total += sum(math.prod(map(len, axes_of(block, settled).values())) for block in blocks) - 1
        for block in blocks:
            yield from self.points_of_block(block, typed)

    def _must_set_nothing_else(self, name: str, base: Base, words: Sequence[str]) -> None:
        """A UserError where the file of an experiment sets something outside it, which its blocks would not see."""
        without = self.base(words)
        keys = [key for key in {**base.values, **without.values} if base.values.get(key) != without.values.get(key)]
        if base.hydra.hydra.sweeper.get("params") != without.hydra.hydra.sweeper.get("params"):
            keys.append("hydra.sweeper.params")
        if keys and not base.refers:
            raise UserError(
                f"{name} sets {', '.join(map(repr, sorted(keys)))} outside the experiment, where it has no effect. "
                "Remove '# @package _global_' and the defaults, and write settings under 'common'."
            )

    def points_of_block(self, block: Mapping[str, Any], typed: Sequence[str]) -> Iterator[Point]:
        """The configurations of one block of an experiment."""
        composed, given = self.divide(typed)
        axes = axes_of(block, self.keys(typed))
        groups = {key: axes.pop(key) for key in GROUPS if key in axes}
        for members in _product(groups):
            base = self.base([*(f"{group}={member}" for group, member in members.items()), *composed])
            for point in _product(axes):
                yield Point(base, {**point, **given})

    def base(self, words: Sequence[str]) -> Base:
        """What Hydra composes from these words."""
        key = tuple(words)
        if key not in self._bases:
            check_names(words)
            whole = hydra.compose(self._name, overrides=list(words), return_hydra_config=True)
            HydraConfig.instance().set_config(whole)
            config = OmegaConf.masked_copy(whole, [str(key) for key in whole if key != "hydra"])
            values: Any = OmegaConf.to_container(config, resolve=False)
            text = str(values)
            refers = text.count("${") > text.count("${oc.env:")  # to other settings: the environment is one for all
            if not refers and "${" in text:
                values = resolved(config)
            experiment = values.pop("experiment", None)
            if experiment is not None and refers:
                experiment = resolved(config)["experiment"]
            self._bases[key] = Base(values, experiment, refers, whole)
        return self._bases[key]

    def divide(self, words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """The words that Hydra must see, and the plain values that can be filled in after it has composed.

        Where a word adds, deletes, is said twice or is none of ours, Hydra sees them all.
        """
        overrides = [self.parsed(word) for word in words]
        keys = [override.key_or_group for override in overrides]
        if len(set(keys)) < len(keys) or not all(is_plain(o) or is_choice(o) for o in overrides):
            return list(words), {}
        composed = [word for word, override in zip(words, overrides, strict=True) if not is_plain(override)]
        return composed, {override.key_or_group: override.value() for override in overrides if is_plain(override)}

    def keys(self, words: Sequence[str]) -> set[str]:
        return {self.parsed(word).key_or_group for word in words}

    def parsed(self, word: str) -> Override:
        if word not in self._parsed:
            (self._parsed[word],) = self._parser.parse_overrides([word])
        return self._parsed[word]


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


def _product(axes: Mapping[str, Sequence[Any]]) -> Iterable[dict[str, Any]]:
    return (dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values()))


def _set(values: dict[str, Any], key: str, value: Any) -> None:
    *parents, leaf = key.split(".")
    for parent in parents:
        if not isinstance(values.get(parent), dict):
            raise UserError(f"There is no setting called '{key}'.")
        values = values[parent]
    values[leaf] = value
