"""Links that lose what is sent. The network re-weights, never the method and never the receiver.

A link that is down is down for both ends and for everything that is said in a step: that takes an acknowledgement, or
a coin that both ends can throw. Its weight goes back to the diagonal (``reabsorb``), so that whatever summed to one
still does: a symmetric matrix stays symmetric and doubly stochastic and every average is kept; what is pushed stays
with its sender. ``renormalise`` (the receiver divides by the weights that arrived) and ``zero_fill`` (what is lost
counts as 0) are what others do, and destroy the average: negative examples, to be asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated

from bench.base.errors import UserError
from bench.base.options import AtLeast
from bench.base.registry import links
from bench.network.faulty import LossyNetwork, OneWayNetwork, SilentNetwork
from bench.network.losses import Coins, Silence
from bench.network.mixing import Mixing
from bench.network.reweighted import Semantics


class Links(ABC):
    """Base of all kinds of links. Annotated class attributes with a value are options."""

    def __init__(self, **options: object) -> None:
        for name, value in options.items():
            setattr(self, name, value)

    @abstractmethod
    def over(self, network: Mixing, seed: int) -> Mixing:
        """The network as it is with these links."""


@links.register("reliable")
class Reliable(Links):
    """Everything arrives."""

    def over(self, network: Mixing, seed: int) -> Mixing:
        return network


@links.register("lossy")
class Lossy(Links):
    """Every link is down with probability p in a step, for both ends."""

    p: float = 0.1
    semantics: Semantics = "reabsorb"

    def over(self, network: Mixing, seed: int) -> Mixing:
        return LossyNetwork(network, Coins(probability(self.p), seed), self.semantics, self.p)


@links.register("outages")
class Outages(Links):
    """A node falls silent with probability p in a step, for a geometric number of steps."""

    p: float = 0.02
    length: Annotated[float, AtLeast(1)] = 5.0
    semantics: Semantics = "reabsorb"

    def over(self, network: Mixing, seed: int) -> Mixing:
        silence = Silence(probability(self.p), self.length, network.nodes, seed)
        return SilentNetwork(network, silence, self.semantics)


@links.register("one_way")
class OneWay(Links):
    """Every message is lost with probability p, and nobody knows: for methods that push, by running sums."""

    p: float = 0.1

    def over(self, network: Mixing, seed: int) -> Mixing:
        return OneWayNetwork(network, Coins(probability(self.p), seed))


def probability(p: float) -> float:
    """What was given as ``links.p``, if it is one."""
    if not 0 <= p < 1:
        raise UserError(f"links.p is a probability in [0, 1): with 1 nobody would ever hear anybody; got {p:g}.")
    return p
