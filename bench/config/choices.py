"""What can be chosen by name, and the options that each choice has."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.base.options import Option, Options, attribute_options, keyword_options
from bench.base.registry import (
    Registry,
    algorithms,
    compressors,
    datasets,
    engines,
    links,
    losses,
    models,
    partitions,
    regularizers,
    topologies,
)


@dataclass(frozen=True)
class Choice:
    """A registered name and its options."""

    name: str
    options: dict[str, Any]


def members(group: str) -> list[str]:
    """The registered names of one config group."""
    return sorted(TRACKERS if group == "tracker" else REGISTRIES[group])


@cache
def options_of(group: str, name: str) -> Options:
    """The options of one member of a config group."""
    match group:
        case "algo":
            return {**algorithms[name].stepsize_options(), **algorithms[name].structure_options()}
        case "topology":
            topology = topologies[name]
            if topology.kind != "gossip":
                return {}
            own = {"allow_biased": Option(bool, False)} if topology.weights is None else {}
            weights = {} if topology.weights is None else {"weights": Option(str, topology.weights)}
            return {**keyword_options(topology.graph), **weights, **own, "lazy": Option(bool, False)}
        case "dataset":
            return keyword_options(datasets[name].__init__ if isinstance(datasets[name], type) else datasets[name])
        case "partition":
            return keyword_options(partitions[name])
        case "model":
            return keyword_options(models[name].__init__)
        case "engine":
            return attribute_options(engines[name])
        case "links":
            return attribute_options(links[name])
        case "compressor":
            return attribute_options(compressors[name])
        case "loss":
            return keyword_options(losses[name].__init__ if isinstance(losses[name], type) else losses[name])
        case "regularizer":
            return attribute_options(regularizers[name])
        case "tracker":
            return TRACKERS[name]
    raise KeyError(group)


def with_option(option: str) -> list[str]:
    """The groups of which some member has this option, as it is typed: algo.eta of eta."""
    return [f"{group}.{option}" for group in (*REGISTRIES, "tracker") if _has(group, option)]


def _has(group: str, option: str) -> bool:
    for name in members(group):
        with suppress(Exception):  # a stranger's signature may be anything; it is complained of when it is chosen
            if option in options_of(group, name):
                return True
    return False


REGISTRIES: dict[str, Registry[Any]] = {
    "algo": algorithms,
    "topology": topologies,
    "dataset": datasets,
    "partition": partitions,
    "model": models,
    "engine": engines,
    "links": links,
    "compressor": compressors,
    "loss": losses,
    "regularizer": regularizers,
}
TRACKERS: dict[str, Options] = {
    "none": {},
    "wandb": {"project": Option(str, "hearsay"), "entity": Option(str | None, None)},
}
