"""The configuration of one run, independent of Hydra, and its run_id."""

from __future__ import annotations

import hashlib
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench.base import renamed
from bench.base.errors import UserError, closest
from bench.base.evaluation import Spacing
from bench.base.home import expanded
from bench.base.options import Count, Natural, coerce, convert, without_neutral
from bench.clock.choice import content_of
from bench.config.choices import Choice, options_of, types_of, with_option
from bench.config.inputs import Input, check_unedited, inputs_of
from bench.store.record import LATER, TAKEN

if TYPE_CHECKING:
    from bench.problem.supervised import Init, Sampling

HOW = {"how": True}
"""Marks settings of how or where a run is computed, which do not change its numbers and its run_id."""
NEUTRAL = "neutral"
"""Marks settings of later versions, with the value at which runs keep their earlier run_id and numbers."""
SHORT = 16
"""The number of characters of a digest in labels and manifests."""


@dataclass(frozen=True)
class RunConfig:
    """The configuration of one run. Field names are the keys of the command line."""

    algo: Choice
    topology: Choice
    links: Choice = field(metadata={NEUTRAL: Choice(LATER["links"], {})})
    compressor: Choice = field(metadata={NEUTRAL: Choice(LATER["compressor"], {})})
    network: Choice = field(metadata={NEUTRAL: Choice(LATER["network"], {})})
    dataset: Choice
    partition: Choice
    model: Choice
    loss: Choice = field(metadata={NEUTRAL: Choice(LATER["loss"], {})})
    regularizer: Choice = field(metadata={NEUTRAL: Choice(LATER["regularizer"], {})})
    engine: Choice = field(metadata=HOW)
    tracker: Choice = field(metadata=HOW)
    nodes: Count
    steps: Count
    batch_size: Count
    seed: Natural
    scale: float
    input_scale: float = field(metadata={NEUTRAL: 1.0})
    validation: float = field(metadata={NEUTRAL: 0.0})
    schedule_nodes: Count | None = field(metadata={NEUTRAL: None})
    init: Init
    sampling: Sampling
    dtype: Literal["float32", "float64"]
    eval_every: Count
    eval_spacing: Spacing
    eval_samples: Count | None = field(metadata={NEUTRAL: None})
    checkpoint_every: Count | None = field(metadata=HOW)
    ranks: Count | None = field(metadata=HOW)
    jobs: Count | None = field(metadata=HOW)
    device: Literal["cpu", "cuda"] = field(metadata=HOW)
    results: str = field(metadata=HOW)
    data_dir: Path | None = field(metadata=HOW)
    force: bool = field(metadata=HOW)
    stale: Literal["rerun", "keep"] | None = field(metadata=HOW)

    def plain(self, identity_only: bool = False) -> dict[str, Any]:
        """Return nested dictionaries, as in config.yaml; in an identity, a digest replaces the path of a file."""
        out: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            neutral = NEUTRAL in item.metadata and value == item.metadata[NEUTRAL]
            if identity_only and ("how" in item.metadata or neutral):
                continue
            if isinstance(value, Choice):
                known = options_of(item.name, value.name)
                options = without_neutral(known, value.options) if identity_only else value.options
                value = {"name": value.name, **options}
                if identity_only and item.name == "network":
                    value["content"] = self.network_content
                    if value.get("slow", 1) is None:
                        value["slow"] = 1.0  # the default before null, which the content tells from 1
            out[item.name] = value
        out = _with_earlier_names(out) if identity_only else out
        digests = {file.path: file.sha256 for file in self.inputs} if identity_only else {}
        return _without_paths(out, digests.__getitem__ if identity_only else str)

    @cached_property
    def network_content(self) -> str:
        """A digest of the network, as its file was when the run_id was computed."""
        content = content_of(self.network.name, self.network.options)
        check_unedited(self.inputs_of("network"))
        return content

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The files that options name, with their digests: those of the run_id, whatever happens to the files later."""
        groups = [item.name for item in fields(self) if item.name in GROUPS and "how" not in item.metadata]
        chosen = {group: getattr(self, group) for group in groups}
        named = {
            group: without_neutral(options_of(group, choice.name), choice.options) for group, choice in chosen.items()
        }
        return tuple(file for group, options in named.items() for file in inputs_of(group, options))

    def inputs_of(self, *groups: str) -> tuple[Input, ...]:
        """Return the files that the options of these groups name."""
        return tuple(file for file in self.inputs if file.group in groups)

    def key(self, *settings: str) -> str:
        """Return a key for caches: the values of these settings, with the digests of their files."""
        return repr([[getattr(self, name) for name in settings], self.inputs_of(*settings)])

    @cached_property
    def contents(self) -> dict[str, str]:
        """Digests of the files that options name, by GROUP.OPTION; ``network_content`` covers those of a network."""
        return {file.option: file.sha256[:SHORT] for file in self.inputs if file.group != "network"}

    @cached_property
    def run_id(self) -> str:
        """A readable prefix and the beginning of ``identity``.

        It does not change when a file of the configuration changes later: ranks that read the file then have another.
        """
        return f"{self.algo.name}-{self.topology.name}-{self.dataset.name}-s{self.seed}-{self.identity[:8]}"

    @cached_property
    def identity(self) -> str:
        """A hash of everything that can change the numbers."""
        return hashlib.sha256(json.dumps(self.plain(identity_only=True), sort_keys=True).encode()).hexdigest()

    def labels(self) -> dict[str, Any]:
        """Return one flat table row: settings, options of the method by name, other options as GROUP.OPTION.

        Options of the method whose name is already a column keep the prefix, such as ``algo.rounds``.
        """
        taken = {*TAKEN, *RunConfig.__annotations__}
        out: dict[str, Any] = {"run_id": self.run_id}
        for key, value in self.plain().items():
            if not isinstance(value, dict):
                out[key] = value
                continue
            out[key] = value["name"]
            options = {name: option for name, option in _flat(value).items() if name != "name"}
            bare = {name for name in options if key == "algo" and name not in taken}
            out.update({name if name in bare else f"{key}.{name}": option for name, option in options.items()})
        if any(isinstance(value, Path) for value in self.network.options.values()):  # one path, several contents
            out["network.content"] = self.network_content
        return out | {f"{option}.content": digest for option, digest in self.contents.items()}


GROUPS = tuple(name for name, kind in RunConfig.__annotations__.items() if kind == Choice.__name__)
"""Settings whose value is a registered name with options."""


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten options that are mappings."""
    out: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            words = {key: "null" if part is None else "{}" for key, part in value.items() if part is None or part == {}}
            out.update({f"{name}.{key}": part for key, part in _flat({**value, **words}).items()})  # none is missing
        else:
            out[name] = ", ".join(map(str, value)) if isinstance(value, list) else value  # tables compare labels
    return out


def _with_earlier_names(values: dict[str, Any]) -> dict[str, Any]:
    """Return an identity with the names that settings had before they were renamed."""
    for earlier, name in renamed.SETTINGS.items():
        group, _, option = name.rpartition(".")
        inside = values.get(group) if group else values
        if inside and option in inside:
            inside[earlier.rpartition(".")[2]] = inside.pop(option)
    return values


def _without_paths(values: dict[str, Any], replace: Callable[[Path], str]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return _without_paths(value, replace)
        return replace(value) if isinstance(value, Path) else value

    return {key: plain(value) for key, value in values.items()}


def parse(values: Mapping[str, Any]) -> RunConfig:
    """Return a RunConfig from nested dictionaries, or raise a UserError."""
    hints = _hints()
    known = {item.name: item.metadata[NEUTRAL] for item in fields(RunConfig) if NEUTRAL in item.metadata}
    for name, value in ((renamed.setting(key), value) for key, value in values.items()):
        if name not in hints:
            raise UserError(no_such_setting(name))
        known[name] = choice(name, value) if hints[name] is Choice else convert(value, hints[name], name)
    if missing := [item.name for item in fields(RunConfig) if item.name not in known]:
        raise UserError(f"The configuration lacks {', '.join(missing)}.")
    if known["results"].startswith("~"):  # shells leave it in results=~/folder
        known["results"] = str(expanded(known["results"]))
    return RunConfig(**known)


def no_such_setting(key: str) -> str:
    """Return the message for an unknown setting; it suggests GROUP.OPTION for an option without its group."""
    return f"There is no setting called '{key}'.{closest(key, _hints(), meant(key))}"


def meant(key: str) -> list[str] | None:
    """Return the settings that the user may have meant; [] if another member of the group has the option, else None."""
    option = key.rpartition(".")[2]
    found = [option] if option in _hints() else with_option(option)
    return [] if key in found else found or None


@cache
def _hints() -> dict[str, Any]:
    from bench.problem import supervised  # slow: imports torch

    return typing.get_type_hints(RunConfig, localns=vars(supervised), include_extras=True)


def is_text(key: str) -> bool:
    """Return whether all values of a setting are texts."""
    group, _, option = key.partition(".")
    kinds = types_of(group, option) if group in GROUPS else [hint for name, hint in _hints().items() if name == key]
    return bool(kinds) and all({*(typing.get_args(kind) or [kind])} <= {str, type(None)} for kind in kinds)


def choice(group: str, value: Any) -> Choice:
    """Return a member of a group with validated options, or raise a UserError."""
    if not isinstance(value, Mapping) or "name" not in value:
        raise UserError(f"{group} must be the name of a member, got {value!r}. Type {group}=NAME.")
    name = value["name"]
    given = {key: option for key, option in value.items() if key != "name"}
    return Choice(name, coerce(options_of(group, name), given, f"{group}.", f"{group}={name}", meant))
