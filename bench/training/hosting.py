"""Where the nodes live: the few things the loop must ask of all processes together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from torch import Tensor

from bench.network.mixing import Operator

Unpack = Callable[[int, Tensor, Sequence[int]], Tensor]
"""From the number of a tensor, payloads (R, m, B) and the nodes they come from to what they say, (R, m, P)."""


class Mixer(ABC):
    """What the hosted nodes hear in round r, which is in step t."""

    @abstractmethod
    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix") -> tuple[Tensor, ...]:
        """Every (R, k, q) tensor of the hosted nodes, multiplied by a matrix of the round across all nodes."""

    def both(
        self, r: int, t: int, pushed: tuple[Tensor, ...], pulled: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Some pushed and some pulled, in one round."""
        return self(r, t, pushed, "push"), self(r, t, pulled, "pull")

    def compressed(
        self, r: int, t: int, payloads: tuple[Tensor, ...], said: tuple[Tensor, ...], unpack: Unpack
    ) -> tuple[Tensor, ...]:
        """``said`` mixed; where nodes are heard from afar, their payloads travel and are unpacked there."""
        return self(r, t, said)

    def kept(self) -> dict[str, Tensor]:
        """What is under way between the nodes, (R, k, …) of the hosted ones: part of where a run stands."""
        return {}

    def restore(self, kept: Mapping[str, Tensor]) -> None:  # noqa: B027
        """Go on from what was kept."""


class Hosting(Protocol):
    """The processes of one run."""

    nodes: int
    hosted: range

    @property
    def mixer(self) -> Mixer: ...

    def total(self, share: Tensor) -> Tensor:
        """The sum over processes."""


class OneProcess:
    """All nodes here."""

    def __init__(self, nodes: int, mixer: Mixer) -> None:
        self.nodes = nodes
        self.hosted = range(nodes)
        self.mixer = mixer

    def total(self, share: Tensor) -> Tensor:
        return share
