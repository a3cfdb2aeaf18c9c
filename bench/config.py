"""A run as plain typed values, checked before anything starts. Nothing here knows Hydra."""

from __future__ import annotations

import hashlib
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Literal

from bench.algorithm import Algorithm
from bench.certificate import Mixing, build_mixing
from bench.loop import Spacing
from bench.options import Count, Option, Options, coerce, convert, keyword_options
from bench.problem import Problem
from bench.registry import UserError, algorithms, closest, datasets, topologies

HOW = {"how": True}
"""Marks what says how or where a run is made, not what it computes: not part of its identity."""


@dataclass(frozen=True)
class Choice:
    """A registered name and its options."""

    name: str
    options: dict[str, Any]


@dataclass(frozen=True)
class RunConfig:
    """Everything about one run. Field names are the keys of the command line."""

    algo: Choice
    topology: Choice
    dataset: Choice
    engine: Choice = field(metadata=HOW)
    tracker: Choice = field(metadata=HOW)
    nodes: Count
    steps: Count
    batch_size: Count
    seed: int
    scale: float
    dtype: Literal["float32", "float64"]
    eval_every: Count
    eval_spacing: Spacing
    device: Literal["cpu", "cuda"] = field(metadata=HOW)
    results: str = field(metadata=HOW)
    force: bool = field(metadata=HOW)

    def plain(self, identity_only: bool = False) -> dict[str, Any]:
        """Nested dictionaries, as in config.yaml."""
        out: dict[str, Any] = {}
        for item in fields(self):
            if not (identity_only and "how" in item.metadata):
                value = getattr(self, item.name)
                out[item.name] = {"name": value.name, **value.options} if isinstance(value, Choice) else value
        return out

    @property
    def run_id(self) -> str:
        """Readable prefix and a hash of everything that can change the numbers."""
        identity = json.dumps(self.plain(identity_only=True), sort_keys=True)
        digest = hashlib.sha256(identity.encode()).hexdigest()[:8]
        return f"{self.algo.name}-{self.topology.name}-{self.dataset.name}-s{self.seed}-{digest}"

    def labels(self) -> dict[str, Any]:
        """One flat table row: names of choices, the method's options by name, others with a prefix."""
        out: dict[str, Any] = {"run_id": self.run_id}
        for key, value in self.plain().items():
            if not isinstance(value, dict):
                out[key] = value
                continue
            out[key] = value["name"]
            prefix = "" if key == "algo" else f"{key}."
            out.update({prefix + name: option for name, option in value.items() if name != "name"})
        return out

    @property
    def algorithm(self) -> type[Algorithm]:
        return algorithms[self.algo.name]

    def mixing(self) -> Mixing:
        """The certified mixing matrix."""
        return _mixing(self.topology.name, self.nodes, tuple(sorted(self.topology.options.items())))


@lru_cache(maxsize=256)
def _mixing(name: str, nodes: int, options: tuple[tuple[str, Any], ...]) -> Mixing:
    return build_mixing(name, nodes, **dict(options))


def options_of(group: str, name: str) -> Options:
    """The options of one member of a config group."""
    match group:
        case "algo":
            return {**algorithms[name].stepsize_options(), **algorithms[name].structure_options()}
        case "topology":
            topology = topologies[name]
            common = {"weights": Option(str, topology.weights), "lazy": Option(bool, False)}
            return {**keyword_options(topology.graph), **common}
        case "dataset":
            return keyword_options(datasets[name].__init__)
        case "engine" | "tracker":
            return SERVICES[group][name]
    raise KeyError(group)


SERVICES: dict[str, dict[str, Options]] = {"engine": {"stacked": {}}, "tracker": {"none": {}}}
"""Options of what the harness itself offers."""


def parse(values: Mapping[str, Any]) -> RunConfig:
    """A checked RunConfig from nested dictionaries, or a UserError that says what is wrong."""
    hints = typing.get_type_hints(RunConfig, include_extras=True)
    known: dict[str, Any] = {}
    for name, value in values.items():
        if name not in hints:
            raise UserError(f"There is no setting called '{name}'.{closest(name, hints)}")
        known[name] = _choice(name, value) if hints[name] is Choice else convert(value, hints[name], name)
    if missing := [item.name for item in fields(RunConfig) if item.name not in known]:
        raise UserError(f"The configuration lacks {', '.join(missing)}.")
    config = RunConfig(**known)
    check(config)
    return config


def _choice(group: str, value: Any) -> Choice:
    if not isinstance(value, Mapping) or "name" not in value:
        raise UserError(f"'{group}' needs a member, as in {group}=NAME; got {value!r}.")
    name = value["name"]
    given = {key: option for key, option in value.items() if key != "name"}
    return Choice(name, coerce(options_of(group, name), given, f"{group}.", f"{group}={name}"))


def check(config: RunConfig) -> None:
    """What no single option can tell: whether method, graph and problem fit."""
    if config.scale <= 0:
        raise UserError(f"scale multiplies f and must be positive; got {config.scale:g}.")
    if not issubclass(datasets[config.dataset.name], Problem):
        raise UserError(f"dataset={config.dataset.name} is not a Problem.")
    check_fit(config.algorithm, config.mixing())


def check_fit(algorithm: type[Algorithm], mixing: Mixing) -> None:
    """Refuse a method on a matrix that it does not converge with."""
    name, least = algorithm.declaration.name, algorithm.declaration.lambda_min
    if least is None:
        return
    lambda_n = mixing.certificate.lambda_n
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
