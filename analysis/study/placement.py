"""The order of the sites of a network: which node is at which site."""

from __future__ import annotations

from itertools import permutations
from math import perm

import numpy as np

from bench.clock import Network, RunCosts

MOST_ORDERS = 50_000
"""The largest number of orders that are compared: all orders of eight sites."""


def best_and_worst(costs: RunCosts, network: Network) -> tuple[Network, Network] | None:
    """Return the network with the best and with the worst order of its sites; None if there are no orders to compare.

    All orders are ranked by the time of a message on the slowest link of the graph, then by the mean over its links:
    nodes that wait for each other in every round are as slow as the slowest link between them. Ties go to the first
    order.
    """
    sites, nodes = len(network.sites), costs.nodes
    fixed = costs.graph.kind == "gossip" and costs.graph.period == 1
    if not fixed or not 2 <= nodes <= sites or perm(sites, nodes) > MOST_ORDERS or not costs.rounds[-1]:
        return None
    messages = costs.graph.messages(0)
    sent = messages.source != messages.target
    source, target = messages.source[sent], messages.target[sent]
    copies = np.bincount(source, minlength=nodes)[source] if network.uplink == "shared" else 1
    size = costs.bits[-1] / costs.rounds[-1] * copies
    orders = np.array(list(permutations(range(sites), nodes)))
    here, there = orders[:, source], orders[:, target]
    latency, rate = network.latency_s[here, there], network.bandwidth[here, there]
    if network.window_bits is not None:
        rate = np.minimum(rate, network.window_bits / (2 * np.maximum(latency, 1e-12)))
    times = latency + size / rate
    # rounded, so that orders with the same links tie
    mean, slowest = (np.round(each, 9) for each in (times.mean(axis=1), times.max(axis=1)))
    numbers = np.arange(len(orders))
    best = np.lexsort((numbers, mean, slowest))[0]
    worst = np.lexsort((numbers, -mean, -slowest))[0]
    return network.placed(orders[best]), network.placed(orders[worst])
