"""Link models: packet loss and node outages. The network changes its weights; methods need no change.

A failed link fails for both ends and for all messages of a step. This requires an acknowledgment, or a shared random
coin. ``reabsorb`` moves its weight to the diagonal. A symmetric matrix stays symmetric and doubly stochastic, so that
averages are preserved; a pushed message stays with its sender. ``renormalise`` (the receiver divides by the weights
that arrived) and ``zero_fill`` (lost messages count as 0) do not preserve averages, and are negative examples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated

from bench.base.errors import UserError
from bench.base.options import AtLeast
from bench.base.registry import links
from bench.network.failures import Coins, NodeOutages, Semantics
from bench.network.faulty import LossyNetwork, OneWayNetwork, SilentNetwork
from bench.network.mixing import Mixing


class LinkModel(ABC):
    """Base class of link models. Define ``over`` and decorate with ``@links.register("NAME")``.

    ``links=NAME`` selects the model on the command line. Annotated class attributes with a value are options,
    ``links.OPTION``. ``links`` is in bench/base/registry.py.

    Example:
        >>> @links.register("half")
        ... class Half(LinkModel):
        ...     semantics: Semantics = "reabsorb"
        ...     def over(self, network, seed):
        ...         return LossyNetwork(network, Coins(0.5, seed), self.semantics, 0.5)
    """

    def __init__(self, **options: object) -> None:
        for name, value in options.items():
            setattr(self, name, value)

    @abstractmethod
    def over(self, network: Mixing, seed: int) -> Mixing:
        """Return the network with these links: its matrices, costs and certificate under loss.

        Args:
            network: The network without loss.
            seed: The seed of the run, which determines all draws.

        Raises:
            UserError: The links do not suit the network, or an option is invalid.
        """


@links.register("reliable")
class Reliable(LinkModel):
    """No loss."""

    def over(self, network: Mixing, seed: int) -> Mixing:
        return network


@links.register("lossy")
class Lossy(LinkModel):
    """Every link fails with probability p in a step, for both ends."""

    p: float = 0.1
    semantics: Semantics = "reabsorb"

    def over(self, network: Mixing, seed: int) -> Mixing:
        return LossyNetwork(network, Coins(probability(self.p), seed), self.semantics, self.p)


@links.register("outages")
class Outages(LinkModel):
    """A node fails with probability p in a step, for a geometric number of steps with mean ``length``."""

    p: float = 0.02
    length: Annotated[float, AtLeast(1)] = 5.0
    semantics: Semantics = "reabsorb"

    def over(self, network: Mixing, seed: int) -> Mixing:
        silence = NodeOutages(probability(self.p), self.length, network.nodes, seed)
        return SilentNetwork(network, silence, self.semantics)


@links.register("one_way")
class OneWay(LinkModel):
    """Every message is lost with probability p without notice, for methods that push (by running sums)."""

    p: float = 0.1

    def over(self, network: Mixing, seed: int) -> Mixing:
        return OneWayNetwork(network, Coins(probability(self.p), seed))


def probability(p: float) -> float:
    """Return ``links.p``; raise ``UserError`` unless it is a probability below 1."""
    if not 0 <= p < 1:
        raise UserError(f"links.p must be at least 0 and less than 1; got {p:g}.")
    return p
