"""What a method declares: its costs, what it needs and assumes, and the properties that the contract checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

INFORMATION = ("smoothness", "variance", "heterogeneity", "topology")
"""What a stepsize may need to know of the problem. n and T are free."""
Mixes = Literal["doubly", "push", "pull", "push and pull"]
Compresses = Literal["no", "contractive", "any"]
Pooled = bool | Literal["sgd"]
"""Whether it is on the complete graph what one node is that knows f; by name, where that is SGD."""
FixedPoint = Literal["exact", "near", "elsewhere"]
"""The minimiser; near it, and nearer as the stepsize shrinks; another point, whatever the stepsize."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a method promises; the contract tests hold it to every word."""

    name: str
    sends: float  # vectors of P numbers a node sends to each neighbour per step; on average, where a coin decides
    scalars: float = 0  # single numbers beside them, likewise
    rounds: float = 1  # calls of mix per step, likewise
    samples: int = 1  # sample numbers a step uses up, per node
    gradients: int = 1  # mini-batch gradients a step evaluates, per node
    start_samples: int = 0  # the same for the start
    start_rounds: int = 0
    needs: tuple[str, ...] = ()  # of INFORMATION, to choose its stepsizes
    assumes: tuple[str, ...] = ()  # beyond smoothness and bounded variance
    estimates: str | None = None  # the state whose mean estimates the gradient
    tracks: Mapping[str, str] = field(default_factory=dict)  # states whose means are equal
    averages: str | None = None  # the state that averages gradients over time, and whose consensus is measured
    zero_sum: tuple[str, ...] = ()  # states that sum to zero over the nodes
    report: str | None = None  # the state whose mean is measured in the place of x
    bounded: bool = False  # every node moves by at most eta[t] before mixing
    pooled: Pooled = False  # on the complete graph, from one start, the mean does what one node that knows f would
    fixed_point: FixedPoint = "exact"  # where exact gradients and a constant stepsize lead
    unread: tuple[str, ...] = ()  # states that are kept, or sent, and have no part in x
    scale_free: bool = False  # c·f for f changes nothing, whatever c > 0
    lambda_min: float | None = None  # eigenvalues of W must lie above this
    exact_average: bool = False  # a reference that asks for W = 11ᵀ/n: what it mixes must come back as the mean
    accelerates: int = 0  # rounds of accelerated gossip at a time: the network refuses too few
    static: bool = False  # W may not change between rounds
    double: bool = False  # rounding errors add up twice over: in float32 its numbers are not believed
    mixes: Mixes = "doubly"  # what it asks of the network
    proximal: bool = False  # it asks for ``prox``: the objective may have a part without a gradient
    compresses: Compresses = "no"  # whether it sends through a compressor, and which its theory takes
    cite: str
    source: str = ""  # where the rule was read, if not in what is cited
    label: str  # what figures and tables call it
    family: str  # methods of one family share a colour
