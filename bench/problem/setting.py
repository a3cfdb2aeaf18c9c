"""The part of a run's configuration that every problem needs, and random numbers that depend on it alone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import torch
from torch import Tensor

from bench.base.machine import cores
from bench.base.randomness import EVERYONE, generator


@dataclass(frozen=True)
class Setting:
    """The part of a run's configuration that every problem needs.

    Attributes:
        nodes: Nodes of the whole network, n.
        hosted: The nodes that this process computes, k of them.
        seeds: The seed of each of the R replicas.
        batch_size: Samples per mini-batch and node.
        dtype: The type of points and gradients.
        device: The device of points and gradients.
        rates: Gradients per second of every node on the run's network; None without a network.

    Example:
        >>> setting = Setting(4, range(4), (0, 1), 8, torch.float32, torch.device("cpu"))
        >>> setting.draw("center", lambda g: g.standard_normal(3)).shape
        (2, 4, 3)
    """

    nodes: int
    hosted: range
    seeds: tuple[int, ...]
    batch_size: int
    dtype: torch.dtype
    device: torch.device
    rates: tuple[float, ...] | None = None

    @cached_property
    def distinct_seeds(self) -> tuple[int, ...]:
        """The seeds without repetitions, S of them. Replicas of one seed share their samples."""
        return tuple(dict.fromkeys(self.seeds))

    @cached_property
    def _seed_of_replica(self) -> Tensor:
        return torch.tensor([self.distinct_seeds.index(seed) for seed in self.seeds], device=self.device)

    def per_replica(self, by_seed: Tensor) -> Tensor:
        """Expand the first axis from one entry per distinct seed, (S, …), to one per replica, (R, …)."""
        if self.seeds == self.distinct_seeds:
            return by_seed
        return by_seed.index_select(0, self._seed_of_replica)

    def draw(
        self,
        purpose: str,
        function: Callable[[np.random.Generator], np.ndarray],
        block: int = 0,
        nodes: range | None = None,
    ) -> np.ndarray:
        """Draw random numbers for every distinct seed and node, (S, nodes, …). They are the same on every engine.

        Args:
            purpose: A word that makes these numbers independent of those drawn for other purposes.
            function: Called with a random generator for each seed and node.
            block: A counter, for numbers that are drawn repeatedly.
            nodes: The nodes to draw for. Default: the hosted ones.
        """
        nodes = self.hosted if nodes is None else nodes
        keys = [(seed, node) for seed in self.distinct_seeds for node in nodes]
        many = threads().map if self.device.type == "cuda" else map  # a GPU must not wait for its samples
        drawn = np.stack(list(many(lambda key: function(generator(key[0], key[1], purpose, block)), keys)))
        return drawn.reshape(len(self.distinct_seeds), len(nodes), *drawn.shape[1:])

    def draw_shared(self, purpose: str, function: Callable[[np.random.Generator], np.ndarray]) -> np.ndarray:
        """Draw random numbers for every distinct seed, the same for all nodes: (S, …)."""
        return self.draw(purpose, function, nodes=range(EVERYONE, EVERYONE + 1))[:, 0]

    def exact(self, by_seed: np.ndarray) -> Tensor:
        """Move numbers to the device in their own dtype, and expand (S, …) to (R, …)."""
        return self.per_replica(torch.as_tensor(by_seed, device=self.device))

    def tensor(self, values: np.ndarray) -> Tensor:
        """Convert numbers to the run's dtype and move them to its device."""
        return self.move(values, self.dtype)

    def move(self, values: np.ndarray, dtype: torch.dtype | None = None) -> Tensor:
        """Move numbers to the device; a GPU continues to compute meanwhile."""
        here = torch.as_tensor(np.ascontiguousarray(values), dtype=dtype)
        return here.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else here


@cache
def threads() -> ThreadPoolExecutor:
    """The threads that draw samples for a GPU; NumPy lets them run at the same time."""
    return ThreadPoolExecutor(min(8, cores()))


def hosted_share(setting: Setting) -> float:
    """Return k/n, the fraction of the nodes that this process hosts.

    Multiply terms that are the same at every node by it, since the shares of all processes are summed.

    Example:
        >>> hosted_share(setting) * penalty
    """
    return len(setting.hosted) / setting.nodes
