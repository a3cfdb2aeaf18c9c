"""Where the nodes live: the few things the loop must ask of all processes together."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Mixer(Protocol):
    def __call__(self, r: int, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Round r: every (R, k, q) tensor of the hosted nodes, multiplied by W(r) across all nodes."""


class World(Protocol):
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
