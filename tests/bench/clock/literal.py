"""The clock as a loop over nodes and messages in plain Python, and networks for its tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.base.keyed import EVERYONE, generator
from bench.clock import Network, RunCosts
from bench.clock.network import LOSS_BLOCK
from bench.clock.recursion import node_times


def times(costs: RunCosts, network: Network) -> np.ndarray:
    """Return the nanoseconds of all nodes at all evaluations, (E, n), by the fast clock."""
    return np.array(list(node_times(costs, network)))


def literal_times(
    costs: RunCosts, network: Network, steps: int, sizes: Sequence[float], silent: Sequence[int] = ()
) -> list[list[int]]:
    """Return the nanoseconds of all nodes after every step. Each step has one gradient and a round of each size.

    In ``silent`` steps, nobody sends: their rounds are passed over.
    """
    n = costs.nodes
    site = network.sites_of(n).tolist()
    now, out, r = [0] * n, [], 0
    for k in range(steps):
        for i in range(n):
            c = (network.compute.gradient_s or 0.0) * 1e9
            if i == network.compute.slow_node:
                c *= network.compute.slow_factor
            if network.compute.random:
                factor, extra = network.compute.draws(costs.seed, n, k + 1, 1)
                c = c * factor[0, i] + extra[0, i]
            else:
                c += network.compute.other_s * 1e9
            now[i] += round(c)
        for bits in sizes:
            if k in silent:
                r += 1
                continue
            sent = costs.graph.messages(r, k)
            lost = np.zeros(len(sent.source), dtype=bool) if sent.lost is None else sent.lost
            again = [0] * len(sent.source)
            if network.loss:
                block, place = divmod(r, LOSS_BLOCK)
                u = generator(costs.seed, EVERYONE, "clock loss", block).random((LOSS_BLOCK, len(again)))[place]
                for number, draw in enumerate(u):
                    while draw < network.loss:
                        again[number] += 1
                        draw /= network.loss
            arrived = list(now)
            for number, (j, i) in enumerate(zip(sent.source.tolist(), sent.target.tolist(), strict=True)):
                if i == j:
                    continue
                share = 1
                if network.uplink == "shared":
                    share = sum(1 for a, b in zip(sent.source, sent.target, strict=True) if a == j and a != b)
                rate = network.bandwidth[site[j], site[i]]
                alpha = network.latency_s[site[j], site[i]]
                bit = share * (1e9 / rate)
                if network.window_bits is not None:
                    bit = max(bit, 2 * alpha * 1e9 / network.window_bits)
                time = round(alpha * 1e9) + round(bits * bit)
                time += (int(lost[number]) + again[number]) * (network.timeout_ns or 0)
                arrived[i] = max(arrived[i], now[j] + time)
            now, r = arrived, r + 1
        out.append(list(now))
    return out
