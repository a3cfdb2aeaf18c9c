"""The method and the network that a configuration names."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from bench.base.registry import algorithms, links, topologies
from bench.config.choices import Choice
from bench.config.run_config import RunConfig
from bench.method.algorithm import Algorithm
from bench.method.properties import Properties
from bench.network.drawn import build_network
from bench.network.links import LinkModel
from bench.network.mixing import Mixing
from bench.store.record import LATER

Key = tuple[str, tuple[tuple[str, Any], ...]]


def method_of(config: RunConfig) -> type[Algorithm]:
    return algorithms[config.algo.name]


def properties_of(config: RunConfig) -> Properties:
    """What the method promises with the options of this run."""
    return method_of(config).declare_for(config.algo.options)


def mixing_of(config: RunConfig) -> Mixing:
    """The network, certified. The same object for all runs on one network."""
    chance = topologies[config.topology.name].drawn or config.links.name != LATER["links"]
    drawn_by = config.seed if chance else None  # a graph that is drawn once has a seed of its own
    return _mixing(config.nodes, drawn_by, *(_key(choice) for choice in (config.topology, config.links)))


def _key(choice: Choice) -> Key:
    return choice.name, tuple(sorted(choice.options.items()))


@lru_cache(maxsize=512)
def _mixing(nodes: int, seed: int | None, topology: Key, over: Key) -> Mixing:
    (name, options), (kind, of_links) = topology, over
    network = build_network(name, nodes, dict(options), seed or 0)
    lossy: LinkModel = links[kind](**dict(of_links))
    return lossy.over(network, seed or 0)
