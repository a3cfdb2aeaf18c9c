"""The physical network of a run, and the gradients per second of every node."""

from __future__ import annotations

from bench.clock.choice import NONE, network_with
from bench.clock.network import Network
from bench.config.run_config import RunConfig


def rates_of(config: RunConfig) -> tuple[float, ...] | None:
    """Return the gradients per second of every node that never waits; None if the network does not say it."""
    if config.network.name == NONE:
        return None
    return network_of(config).compute.rates(config.nodes)


def network_of(config: RunConfig) -> Network:
    """Return the physical network of a run, with the content that its run_id names.

    Raises:
        UserError: The file of the network was edited since the run_id was computed.
    """
    return network_with(config.network.name, tuple(sorted(config.network.options.items())), config.network_content)
