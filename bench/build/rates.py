"""The physical network of a run, and the gradients per second of every node."""

from __future__ import annotations

from bench.base.errors import UserError
from bench.clock.choice import NONE, network_with
from bench.clock.network import Network
from bench.config.run_config import RunConfig

MOST_PER_STEP = 10_000
"""The most gradients of a node in a step of an asynchronous run, the time of a gradient of the other nodes."""


def check_rates(config: RunConfig) -> None:
    """Raise ``UserError`` if a node of an asynchronous run is so fast that its gradients have no end."""
    if config.network.name == NONE:
        return
    compute = network_of(config).compute
    if compute.slow_node is None or not compute.gradient_s:
        return
    each = (compute.gradient_s + compute.other_s) / (compute.slow_factor * compute.gradient_s + compute.other_s)
    if each > MOST_PER_STEP:
        raise UserError(
            f"With network.slow={compute.slow_factor:g}, node {compute.slow_node} would compute {each:.3g} gradients "
            f"per step; an asynchronous run may have {MOST_PER_STEP}. Use network.slow={1 / MOST_PER_STEP:g} or more."
        )


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
