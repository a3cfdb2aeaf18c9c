"""Physical networks: latency and bandwidth of every ordered pair of nodes, losses, and compute times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from bench.base.errors import UserError
from bench.base.keyed import EVERYONE, generator
from bench.clock.compute import NANO, Compute, whole

LOSS_BLOCK = 16
"""Rounds whose losses are drawn together. It is part of the random key."""
Uplink = Literal["shared", "separate"]
Deal = Literal["round_robin", "blocks"]


@dataclass(frozen=True, eq=False)
class Network:
    """A physical network. It has the same link between all nodes, or sites with a link for every ordered pair.

    Attributes:
        name: The name of its file.
        latency_s: Seconds from site to site, (S, S), or (1, 1) for a uniform network. The diagonal is the latency
            within a site.
        bandwidth: Bits per second from site to site, of the same shape.
        sites: The names of the sites; empty for a uniform network, which has any number of nodes.
        deal: How nodes are assigned to sites if there are more nodes than sites: ``round_robin`` (node i at site
            i mod S) or ``blocks`` (equal blocks of consecutive nodes). None: at most one node per site.
        order: Node i is at site ``order[i]``, for another placement; empty: by ``deal``.
        uplink: ``shared``: the messages that a node sends in a round divide its bandwidth; ``separate``: each has it.
        loss: The probability that a message is lost and sent again, any number of times.
        timeout_s: The seconds after which a lost message is sent again; None: losses have no time on this network.
        window_bits: The bits that TCP sends before an acknowledgment: a connection sends at most window / 2 latency.
        compute: The compute times.
        title: A name for figures.
        source: Where the numbers come from.
    """

    name: str
    latency_s: np.ndarray
    bandwidth: np.ndarray
    sites: tuple[str, ...] = ()
    deal: Deal | None = None
    order: tuple[int, ...] = ()
    uplink: Uplink = "shared"
    loss: float = 0.0
    timeout_s: float | None = None
    window_bits: float | None = None
    compute: Compute = field(default_factory=Compute)
    title: str = ""
    source: str = ""

    def changed(
        self, latency_ms: float | None = None, bandwidth_mbps: float | None = None, **attributes: Any
    ) -> Network:
        """Return this network with the same latency or bandwidth on all links, or with other attributes."""
        if latency_ms is not None:
            attributes["latency_s"] = np.full_like(self.latency_s, latency_ms / 1000)
        if bandwidth_mbps is not None:
            attributes["bandwidth"] = np.full_like(self.bandwidth, bandwidth_mbps * 1e6)
        return replace(self, **attributes)

    def placed(self, order: Sequence[int]) -> Network:
        """Return this network with node i at site ``order[i]``."""
        wrong = [site for site in order if not 0 <= site < max(1, len(self.sites))]
        if wrong:
            raise UserError(f"The network '{self.name}' has {len(self.sites)} sites, 0 …; there is no site {wrong[0]}.")
        return replace(self, order=tuple(int(site) for site in order))

    def sites_of(self, nodes: int) -> np.ndarray:
        """Return the site of every node, (n,).

        Raises:
            UserError: The network has fewer sites than nodes and no rule to share them.
        """
        count = len(self.sites)
        if self.order:
            if len(self.order) != nodes:
                raise UserError(
                    f"The placement on '{self.name}' has {len(self.order)} nodes, but the run has {nodes}. Place "
                    "every node."
                )
            return np.array(self.order)
        if not count:
            return np.zeros(nodes, dtype=np.int64)
        if self.deal == "blocks" and nodes > count:
            return np.arange(nodes) * count // nodes
        if nodes > count and self.deal is None:
            raise UserError(
                f"The network '{self.name}' has {count} sites, but the run has {nodes} nodes. Add sites, or add "
                "'deal: round_robin' and 'within' to its file, so that nodes share sites."
            )
        return np.arange(nodes) % count

    def links(self, nodes: int) -> Links:
        """Return the links between so many nodes."""
        site = self.sites_of(nodes)
        latency, rate = self.latency_s[np.ix_(site, site)], self.bandwidth[np.ix_(site, site)]
        if len(set(site.tolist())) < nodes and not (np.isfinite(latency) & np.isfinite(rate)).all():
            raise UserError(
                f"Several nodes share a site of the network '{self.name}', but its file has no latency and bandwidth "
                "within a site. Add 'within' to it."
            )
        window = None if self.window_bits is None else 2 * latency * NANO / self.window_bits
        shared = self.uplink == "shared"
        return Links(np.rint(latency * NANO), NANO / rate, shared, self.loss, self.timeout_ns, window)

    @property
    def timeout_ns(self) -> int | None:
        """The time-out in nanoseconds."""
        return None if self.timeout_s is None else round(self.timeout_s * NANO)


def uniform(latency_ms: float, bandwidth_mbps: float, name: str = "uniform", **attributes: Any) -> Network:
    """Return a network with the same link between all nodes; ``attributes`` are those of ``Network``."""
    if not 0 <= latency_ms < np.inf or not 0 < bandwidth_mbps < np.inf:
        raise UserError(
            f"latency_ms must not be negative and bandwidth_mbps must be positive; got {latency_ms!r} and "
            f"{bandwidth_mbps!r}."
        )
    return Network(name, np.array([[latency_ms / 1000]]), np.array([[bandwidth_mbps * 1e6]]), **attributes)


class Links:
    """The links between n nodes: times of messages in nanoseconds."""

    def __init__(
        self,
        latency: np.ndarray,
        bit: np.ndarray,
        shared: bool,
        loss: float = 0.0,
        timeout: int | None = None,
        window: np.ndarray | None = None,
    ) -> None:
        """``latency`` in nanoseconds and ``bit``, nanoseconds per bit, of every ordered pair (from, to), (n, n).

        ``window`` is the least time per bit of a single connection: each neighbor has its own.
        """
        self._latency, self._bit, self._shared = latency, bit, shared
        self._window = np.broadcast_to(0.0, bit.shape) if window is None else window
        self.nodes, self.loss, self.timeout = len(latency), loss, timeout
        self._waits: tuple[tuple[int, int, int], np.ndarray] | None = None

    def delays(self, source: np.ndarray, target: np.ndarray, bits: float) -> np.ndarray:
        """Return the time of each message of a round, (m,); a message of a node to itself takes none."""
        sent = source != target
        share = np.bincount(source[sent], minlength=self.nodes)[source] if self._shared else 1
        bit = np.maximum(share * self._bit[source, target], self._window[source, target])
        return whole(np.where(sent, self._latency[source, target] + np.rint(bits * bit), 0))

    def all_reduce(self, bits: float) -> int:
        """Return the time of a ring all-reduce: 2(n−1) stages, each as long as its slowest link."""
        n = self.nodes
        if n == 1:
            return 0
        here, there = np.arange(n), np.roll(np.arange(n), -1)
        stage = self._latency[here, there] + bits / n * np.maximum(self._bit, self._window)[here, there]
        return round(2 * (n - 1) * float(stage.max()))

    def waits(self, seed: int, r: int, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the nanoseconds that messages of round r wait because they were lost and sent again, (m,)."""
        number, place = divmod(r, LOSS_BLOCK)
        key = seed, number, len(source)
        if self._waits is None or self._waits[0] != key:
            draws = generator(seed, EVERYONE, "clock loss", number).random((LOSS_BLOCK, len(source)))
            self._waits = key, self._lost(draws)
        return np.where(source == target, 0, self._waits[1][place])

    def all_reduce_waits(self, seed: int, r: int) -> int:
        """Return the nanoseconds that an all-reduce waits: in every stage for the message lost most often."""
        draws = generator(seed, EVERYONE, "clock all-reduce loss", r).random((2 * (self.nodes - 1), self.nodes))
        return int(self._lost(draws).max(axis=1).sum()) if self.nodes > 1 else 0

    def _lost(self, draws: np.ndarray) -> np.ndarray:
        """Return the time-outs by draws uniform on [0, 1): a message is lost k times or more if u < loss^k."""
        assert self.timeout is not None
        out = np.zeros(draws.shape, dtype=np.int64)
        lost = draws < self.loss
        out[lost] = np.floor(np.log(np.maximum(draws[lost], 1e-300)) / np.log(self.loss)) * self.timeout
        return out
