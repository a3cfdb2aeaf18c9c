"""What can be chosen by name, and the options that each choice has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.base.options import NonNegative, Option, Options, Positive, keyword_options
from bench.base.registry import algorithms, datasets, models, partitions, topologies


@dataclass(frozen=True)
class Choice:
    """A registered name and its options."""

    name: str
    options: dict[str, Any]


def members(group: str) -> list[str]:
    """The registered names of one config group."""
    known = {"algo": algorithms, "topology": topologies, "dataset": datasets, "partition": partitions, "model": models}
    return sorted(known[group] if group in known else SERVICES[group])


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
        case "engine" | "tracker":
            return SERVICES[group][name]
    raise KeyError(group)


SERVICES: dict[str, dict[str, Options]] = {
    "engine": {
        "mpi": {
            "launch": Option(list[str] | None, None),
            "pool": Option(bool, True),
            "timeout_s": Option(NonNegative, 300.0),
            "host": Option(str, "127.0.0.1"),
        },
        "stacked": {"memory_gb": Option(Positive | None, None), "timeout_s": Option(NonNegative, 300.0)},
    },
    "tracker": {"none": {}, "wandb": {"project": Option(str, "hearsay"), "entity": Option(str | None, None)}},
}
"""Options of what the harness itself offers."""
