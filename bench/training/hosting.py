"""The processes that host the nodes, and the operations that need all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from torch import Tensor

from bench.network.mixing import Operator

Unpack = Callable[[int, Tensor, Sequence[int]], Tensor]
"""Decodes payloads, (R, m, B), of tensor number i from m nodes to vectors, (R, m, P)."""


class Mixer(ABC):
    """Communication of the hosted nodes in round r of step t."""

    @abstractmethod
    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix") -> tuple[Tensor, ...]:
        """Multiply (R, k, q) tensors of the hosted nodes by a matrix of the round, across all nodes."""

    def both(
        self, r: int, t: int, pushed: tuple[Tensor, ...], pulled: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Push some tensors and pull others in one round."""
        return self(r, t, pushed, "push"), self(r, t, pulled, "pull")

    def compressed(
        self, r: int, t: int, payloads: tuple[Tensor, ...], decoded: tuple[Tensor, ...], unpack: Unpack
    ) -> tuple[Tensor, ...]:
        """Mix the ``decoded`` vectors. Between processes, the payloads are sent and the receiver decodes them."""
        return self(r, t, decoded)

    def kept(self) -> dict[str, Tensor]:
        """Return the messages in flight for a checkpoint, (R, k, …) of the hosted nodes."""
        return {}

    def restore(self, kept: Mapping[str, Tensor]) -> None:  # noqa: B027
        """Restore the messages in flight."""


class Hosting(Protocol):
    """The processes of one run."""

    nodes: int
    hosted: range

    @property
    def mixer(self) -> Mixer: ...

    def total(self, share: Tensor) -> Tensor:
        """Return the sum over processes."""


class OneProcess:
    """A single process that hosts all nodes."""

    def __init__(self, nodes: int, mixer: Mixer) -> None:
        self.nodes, self.hosted, self.mixer = nodes, range(nodes), mixer

    def total(self, share: Tensor) -> Tensor:
        return share
