"""The method and the network that a configuration names."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from bench.base.registry import algorithms, links, topologies
from bench.config.inputs import Input, check_unedited
from bench.config.run_config import RunConfig
from bench.method.algorithm import Algorithm
from bench.method.properties import Properties
from bench.network.drawn import build_network
from bench.network.links import LinkModel
from bench.network.mixing import Mixing
from bench.store.record import LATER

Key = tuple[str, tuple[tuple[str, Any], ...]]


def method_of(config: RunConfig) -> type[Algorithm]:
    """Return the class of the method."""
    return algorithms[config.algo.name]


def properties_of(config: RunConfig) -> Properties:
    """Return the properties of the method with the options of this run."""
    return method_of(config).declare_for(config.algo.options)


def mixing_of(config: RunConfig) -> Mixing:
    """Return the certified network: the same object for all runs on one network."""
    return _mixing(*_key(config))


def new_mixing(config: RunConfig) -> Mixing:
    """Return the certified network, built again."""
    return _mixing.__wrapped__(*_key(config))


def _key(config: RunConfig) -> tuple[int, int, Key, Key, tuple[Input, ...]]:
    random = topologies[config.topology.name].drawn or config.links.name != LATER["links"]
    seed = config.seed if random else 0  # a graph that is drawn once has a seed of its own
    topology, over = (
        (choice.name, tuple(sorted(choice.options.items()))) for choice in (config.topology, config.links)
    )
    return config.nodes, seed, topology, over, config.inputs_of("topology", "links")


@lru_cache(maxsize=512)
def _mixing(nodes: int, seed: int, topology: Key, over: Key, inputs: tuple[Input, ...]) -> Mixing:
    network = build_network(topology[0], nodes, dict(topology[1]), seed)
    model: LinkModel = links[over[0]](**dict(over[1]))
    mixing = model.over(network, seed)
    check_unedited(inputs)
    return mixing
