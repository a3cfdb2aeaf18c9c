"""Gradients per second of every node, from the network of a run."""

from __future__ import annotations

from bench.base.registry import networks
from bench.clock.choice import NONE
from bench.clock.network import Network
from bench.config.run_config import RunConfig


def rates_of(config: RunConfig) -> tuple[float, ...] | None:
    """Return the gradients per second of every node that never waits; None if the network does not say it."""
    if config.network.name == NONE:
        return None
    network: Network = networks[config.network.name](**config.network.options).network()
    return network.compute.rates(config.nodes)
