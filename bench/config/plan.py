"""From the command line to a list of runs: expand sweeps and experiments, check everything, drop duplicates.

Hydra composes once per combination of group members; plain values are filled in afterwards, which is
hundreds of times faster than composing each run.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import hydra
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from bench.base.errors import Refused, UserError
from bench.base.options import NoOption
from bench.config.compose import hydra_here, prepared, resolved, several_values
from bench.config.experiment import axes_of, blocks_of
from bench.config.flags import refuse_plugins
from bench.config.names import check_names, check_typed, is_choice, is_plain, refuse_replaced
from bench.config.point import Base, Point, experiment_of, refers
from bench.config.run_config import GROUPS, RunConfig, parse
from bench.config.source import USUAL, Source

Make = Callable[[Mapping[str, Any]], RunConfig]
Say = Callable[[int, int], None]
"""Called with the number of configurations composed so far, and their total."""
BLOCKS = "To give each its own options, write an experiment with a block for each, as conf/experiment/example.yaml."
REASONS = 12
"""The largest number of different reasons in an error message."""


def of_command(
    words: Sequence[str],
    make: Make = parse,
    several: bool = True,
    say: Say = lambda made, of: None,
    left_out: Counter[str] | None = None,
    source: Source = USUAL,
) -> list[RunConfig]:
    """Return the runs of a command line of run.py, with duplicates.

    ``make`` validates each configuration; ``parse`` does not check whether this machine can run it. ``several`` allows
    sweeps. If some combinations are valid, ``left_out`` counts the invalid ones by reason instead of an error.
    """
    refuse_plugins(words)
    source, words = prepared(words, source)
    with hydra_here(words, source):
        return Planner(make, say, left_out, source.name).runs(jobs_of(words, several))


def jobs_of(words: Sequence[str], several: bool) -> list[list[str]]:
    """Return the words of each configuration of a sweep, in the order of Hydra, which must be initialized."""
    loader = GlobalHydra.instance().config_loader()
    overrides = OverridesParser.create(loader).parse_overrides(list(words))
    for override in overrides:
        if override.is_sweep_override():
            if not several:
                raise UserError(several_values(str(override.input_line)))
            if not override.is_discrete_sweep():
                raise UserError(f"{override.input_line} is not a list. Type the values, or range(START,STOP,STEP).")
    if not several:
        return [list(words)]
    refuse_replaced(words)
    (jobs,) = BasicSweeper.split_arguments(overrides, max_batch_size=None)
    if not jobs:
        raise UserError("The sweep is empty: one of its settings has no value.")
    if any("${hydra:" in word for word in words):
        return [[*job, f"hydra.job.num={number}"] for number, job in enumerate(jobs)]
    return jobs


class Planner:
    """Expands a command into runs; Hydra composes each combination of group members once."""

    def __init__(self, make: Make, say: Say, left_out: Counter[str] | None, name: str) -> None:
        self._make, self._say, self._left_out, self._name = make, say, left_out, name
        self._bases: dict[tuple[str, ...], Base] = {}
        self._parsed: dict[str, Override] = {}
        self._parser = OverridesParser.create()
        self._total = 0

    def runs(self, jobs: Sequence[Sequence[str]]) -> list[RunConfig]:
        """Return the runs of all jobs, or raise a UserError with the reasons why some are invalid.

        A job is the words of one configuration or experiment.
        """
        self._total = len(jobs)
        out: list[RunConfig] = []
        invalid, skipped = Counter[str](), Counter[str]()
        lacking = False
        for number, point in enumerate(point for words in jobs for point in self.points(words)):
            self._say(number, self._total)
            try:
                out.append(self._make(point.values()))
            except UserError as error:
                (skipped if isinstance(error, Refused) else invalid)[str(error)] += 1
                lacking |= isinstance(error, NoOption)
        if self._left_out is not None and out and not invalid:
            self._left_out.update(skipped)
            return out
        if invalid := invalid + skipped:
            more = [f"… and {len(invalid) - REASONS} other reasons."] if len(invalid) > REASONS else []
            more += [BLOCKS] if lacking and out else []
            raise UserError("\n".join([*list(invalid)[:REASONS], *more]))
        return out

    def points(self, words: Sequence[str]) -> Iterator[Point]:
        """Yield the configurations of one job."""
        composed, given = self.divide(words)
        base = self.base(composed)
        if base.experiment is None:
            yield Point(base, given)
            return
        typed = [word for word in words if not word.lstrip("+~").startswith(("experiment=", "experiment."))]
        name = next((word for word in words if word.startswith("experiment=")), "The experiment")
        self._check_package(name, base, [word for word in composed if word in typed])
        blocks = blocks_of(base.experiment, name)
        settled = self.keys(typed)
        self._check_own_groups(name, [key for block in blocks for key in block if key not in settled], composed)
        check_typed([self.parsed(word) for word in typed], blocks, name)
        self._total += sum(math.prod(map(len, axes_of(block, settled).values())) for block in blocks) - 1
        for block in blocks:
            yield from self.points_of_block(block, typed, base)

    def _check_package(self, name: str, base: Base, words: Sequence[str]) -> None:
        """Reject the file of an experiment that sets something outside it, since its blocks would ignore that."""
        without = self.base(words)
        both: list[Any] = [OmegaConf.to_container(each.hydra, resolve=False) for each in (base, without)]
        one, other = both
        inside = ("hydra", "experiment")
        keys = [str(key) for key in {**one, **other} if key not in inside and one.get(key) != other.get(key)]
        if base.hydra.hydra.sweeper.get("params") != without.hydra.hydra.sweeper.get("params"):
            keys.append("hydra.sweeper.params")
        if keys:
            raise UserError(
                f"{name} sets {', '.join(map(repr, sorted(keys)))} outside the experiment, where it has no effect. "
                "Remove '# @package _global_' and the defaults, and write settings under 'common'."
            )

    def _check_own_groups(self, name: str, settings: Iterable[str], words: Sequence[str]) -> None:
        """Reject typed groups of the user that set one of the experiment's settings, which would replace it."""
        known = (*RunConfig.__annotations__, "experiment", "hydra")
        own = [word for word in words if re.split(r"[./@=]", word.lstrip("+~"))[0] not in known]
        if not own:
            return
        both = (self.base(words), self.base([word for word in words if word not in own]))
        one, other = (dict(_flat(base.values)) for base in both)
        changed = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        for theirs in settings:
            if any(key == theirs or key.startswith(f"{theirs}.") for key in changed):
                raise UserError(f"{' '.join(own)} and {name} both set '{theirs}'. Remove it from one of them.")

    def points_of_block(self, block: Mapping[str, Any], typed: Sequence[str], whole: Base) -> Iterator[Point]:
        """Yield the configurations of one block of an experiment, whose composition is ``whole``."""
        composed, given = self.divide(typed)
        axes = axes_of(block, self.keys(typed))
        groups = {key: axes.pop(key) for key in GROUPS if key in axes}
        for members in _product(groups):
            if unknown := [f"{group}: {member}" for group, member in members.items() if "${" in str(member)]:
                raise UserError(f"A block has '{unknown[0]}'. A reference cannot choose a member. Write its name.")
            base = self.base([*(f"{group}={member}" for group, member in members.items()), *composed])
            for point in _product(axes):
                yield Point(base.chosen_by(whole, block), {**point, **given}, whole.experiment)

    def base(self, words: Sequence[str]) -> Base:
        """Return the composition of these words."""
        key = tuple(words)
        if key not in self._bases:
            check_names(words)
            whole = hydra.compose(self._name, overrides=list(words), return_hydra_config=True)
            HydraConfig.instance().set_config(whole)
            own = [str(key) for key in whole if key not in ("hydra", "experiment")]
            config = OmegaConf.masked_copy(whole, own)
            values: Any = OmegaConf.to_container(config, resolve=False)
            if not refers(values) and "${" in str(values):
                values = resolved(config)
            experiment = experiment_of(whole.get("experiment"))
            self._bases[key] = Base(values, experiment, refers(values), whole)
        return self._bases[key]

    def divide(self, words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """Return the words for Hydra, and the plain values to set after the composition.

        Hydra gets all words if one adds or deletes a key, is repeated or is not a setting of hearsay.
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


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values of a nested mapping, by their names with dots."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _product(axes: Mapping[str, Sequence[Any]]) -> Iterable[dict[str, Any]]:
    return (dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values()))
