"""Compute times: seconds of a mini-batch gradient, by node and step, with stragglers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from bench.base.errors import UserError
from bench.base.keyed import generator

BLOCK = 1024
"""Steps whose random compute times are drawn together. It is part of the random key."""
NANO = 1e9
"""Nanoseconds per second."""
LIMITS = dict.fromkeys(("gradient_s", "exponential_s", "other_s"), 1e10) | {"lognormal_sigma": 10.0}
"""The largest values of the attributes of ``Compute``; larger ones may be in another unit."""
LONGEST = 1e15
"""The longest time of a gradient or a message in nanoseconds, 11 days: thousands of them fit into int64."""
MANY = 1000
"""Nodes above which few blocks are kept: a block of 10,000 nodes has 82 MB."""


@dataclass(frozen=True)
class Compute:
    """The time of a mini-batch gradient of node i in step k: c_i(k) = c · s_i · exp(σ z_i(k)) + o + e_i(k).

    z is standard normal and e exponential, drawn with the key (seed, i, k).

    Attributes:
        gradient_s: c, in seconds; None: the run's measured time.
        lognormal_sigma: σ, the spread of lognormal stragglers; c is the median.
        exponential_s: The mean of e, in seconds: a shifted exponential.
        slow_node: The node with s_i = ``slow_factor``; all others have s_i = 1.
        slow_factor: How many times longer the slow node computes.
        other_s: o, in seconds: work beside the gradient, such as loading data, which is the same on all nodes.
    """

    gradient_s: float | None = 0.0
    lognormal_sigma: float = 0.0
    exponential_s: float = 0.0
    slow_node: int | None = None
    slow_factor: float = 1.0
    other_s: float = 0.0

    def __post_init__(self) -> None:
        for name, most in LIMITS.items():
            value = getattr(self, name)
            if value is not None and not 0 <= value <= most:
                raise UserError(f"The compute option {name} must lie between 0 and {most:g}, got {value!r}.")
        if not 0 < self.slow_factor < np.inf:
            raise UserError(f"The compute option slow_factor must be positive, got {self.slow_factor!r}.")

    @property
    def random(self) -> bool:
        """Whether compute times depend on random draws."""
        return self.lognormal_sigma > 0 or self.exponential_s > 0

    def base(self, nodes: int, measured_s: float | None = None, gradient_s: float | None = None) -> np.ndarray:
        """Return c · s_i in nanoseconds, (n,); ``measured_s`` is the run's time, ``gradient_s`` replaces c.

        Raises:
            UserError: There is no time per gradient, or the slow node does not exist.
        """
        c = next((each for each in (gradient_s, self.gradient_s, measured_s) if each is not None), None)
        if c is None:
            raise UserError(
                "The network uses the measured compute time, but the run has none (column compute_s). Set a time per "
                "gradient, in seconds, or gradient_ms in the network file."
            )
        if not 0 <= c < np.inf:
            raise UserError(f"The time per gradient must be finite and not negative, got {c!r} seconds.")
        out = np.full(nodes, c * NANO)
        if self.slow_node is not None:
            if not 0 <= self.slow_node < nodes:
                raise UserError(
                    f"slow_node={self.slow_node} does not exist: the run has the nodes 0 … {nodes - 1}. Choose one "
                    "of them, in the network file or with network.slow_node."
                )
            out[self.slow_node] *= self.slow_factor
        return out

    def rates(self, nodes: int) -> tuple[float, ...] | None:
        """Return the gradients per second of every node, one over its mean time; None if this needs a measured time."""
        if not self.gradient_s:
            return None
        mean = self.base(nodes) * np.exp(self.lognormal_sigma**2 / 2) / NANO + self.other_s + self.exponential_s
        return tuple((1 / mean).tolist())

    def draws(self, seed: int, nodes: int, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return exp(σ z) and o + e, in nanoseconds, of the steps ``first`` … ``first + count − 1``: two (count, n)."""
        factors, extra = np.ones((count, nodes)), np.full((count, nodes), self.other_s * NANO)
        if self.lognormal_sigma:
            factors = np.exp(self.lognormal_sigma * _standard("normal", seed, nodes, first, count))
        if self.exponential_s:
            extra += self.exponential_s * NANO * _standard("exponential", seed, nodes, first, count)
        return factors, extra

    def draws_by_block(self, seed: int, nodes: int, first: int, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the same draws block by block: those of all steps may not fit in memory."""
        end = first + count
        for begin in (first, *range(first - first % BLOCK + BLOCK, end, BLOCK)):
            yield self.draws(seed, nodes, begin, min(end, begin - begin % BLOCK + BLOCK) - begin)


def whole(times: np.ndarray) -> np.ndarray:
    """Return whole nanoseconds, int64; UserError if a time is too long, as with another unit in a network file."""
    if not (times <= LONGEST).all():
        raise UserError(
            f"A gradient or a message takes more than {LONGEST / NANO:g} s on this network. Check the numbers and "
            "units in its file, such as gradient_ms, lognormal_sigma and slow_factor."
        )
    return np.rint(times).astype(np.int64)


def _standard(law: str, seed: int, nodes: int, first: int, count: int) -> np.ndarray:
    """Return standard draws for so many steps, (count, n)."""
    blocks = range(first // BLOCK, (first + count - 1) // BLOCK + 1)
    begin = first - blocks[0] * BLOCK
    return np.concatenate([_block(law, seed, nodes, each) for each in blocks])[begin : begin + count]


def _block(law: str, seed: int, nodes: int, block: int) -> np.ndarray:
    """Return standard draws for the steps of a block, (BLOCK, n)."""
    return (_block_of_many if nodes > MANY else _block_of_few)(law, seed, nodes, block)


def _drawn(law: str, seed: int, nodes: int, block: int) -> np.ndarray:
    draws = (generator(seed, node, f"clock {law}", block) for node in range(nodes))
    return np.stack([getattr(each, f"standard_{law}")(BLOCK) for each in draws], axis=1)


_block_of_few, _block_of_many = lru_cache(maxsize=32)(_drawn), lru_cache(maxsize=4)(_drawn)


OPTIONS = {
    "gradient_ms": "gradient_s",
    "exponential_ms": "exponential_s",
    "other_ms": "other_s",
    **{each.name: each.name for each in fields(Compute) if not each.name.endswith("_s")},
}
"""Keys of the section ``compute`` of a network file, with the attributes they set."""


def compute_of(values: Mapping[str, Any], measured: str) -> Compute:
    """Return the compute times of a network file, whose keys are those of ``OPTIONS`` with numbers."""
    out: dict[str, Any] = {}
    for key, value in values.items():
        if key == "gradient_ms" and value == measured:
            out["gradient_s"] = None
        else:
            out[OPTIONS[key]] = value / 1000 if key.endswith("_ms") else value
    return Compute(**out)
