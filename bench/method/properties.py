"""The properties that a method declares: its costs, its assumptions, and what the contract checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bench.base.provenance import Provenance, mark_of

INFORMATION = ("smoothness", "variance", "heterogeneity", "topology")
"""Problem parameters that a stepsize rule may use. All methods may use n (nodes) and T (steps)."""
Mixes = Literal["doubly", "push", "pull", "push and pull"]
EventPattern = Literal["messages", "pairs", "meetings", "one_late"]
Compresses = Literal["no", "contractive", "any"]
CentralizedEquivalent = bool | Literal["sgd"]
FixedPoint = Literal["exact", "near", "elsewhere"]


@dataclass(frozen=True, kw_only=True)
class Properties:
    """The properties of a method. ``python bench/contract.py NAME`` checks each of them.

    Costs are per node and step. Where a random coin decides on communication, they are averages.

    Attributes:
        name: The name of the method on the command line.
        vectors_per_step: Vectors of P numbers sent to each neighbor.
        scalars_per_step: Single numbers sent to each neighbor beside the vectors.
        rounds: Calls of ``mix``.
        samples: Sample numbers used.
        gradients: Mini-batch gradients evaluated.
        start_samples: Sample numbers used by ``start``.
        start_rounds: Calls of ``mix`` in ``start``.
        needs: Problem parameters that the stepsizes need, from ``INFORMATION``.
        assumes: Assumptions beyond smoothness and bounded variance.
        exact: True if the theory covers exact gradients only, not stochastic ones.
        common_start: True if the theory requires that all nodes start at the same point.
        estimates: The state whose mean over the nodes estimates the gradient.
        tracks: Pairs of states whose means over the nodes are equal, such as ``{"u": "v"}``.
        averages: The state that averages gradients over time. Its consensus error is measured.
        zero_sum: States that sum to zero over the nodes.
        report: The state whose mean is evaluated instead of x.
        bounded_step: True if a node moves by at most ``eta[t]`` before mixing.
        centralized_equivalent: True if the method reduces to its centralized version on the complete graph;
            ``"sgd"`` if that is plain SGD.
        fixed_point: The limit with exact gradients and a constant stepsize: the minimizer (``"exact"``), a point
            that approaches it as the stepsize shrinks (``"near"``), or another point (``"elsewhere"``).
        diagnostic_states: States that do not influence x.
        scale_free: True if replacing f by c·f changes no iterate, for every c > 0.
        lambda_min: Lower bound on the eigenvalues of W that the method requires.
        exact_average: True for a centralized reference, which requires W = 11ᵀ/n.
        accelerates: Rounds of accelerated gossip in a row. The run is rejected if that many do not contract.
        static: True if W must be the same in every round.
        requires_float64: True if rounding errors accumulate so fast that float32 is rejected.
        mixes: The kind of mixing matrix that the method uses.
        proximal: True if the method calls ``prox``, so that the objective may have a nonsmooth term.
        compresses: Whether the method sends compressed vectors, and which compressors its theory allows.
        events: When the nodes of an asynchronous method act; see ``Asynchronous``. None: the method has steps.
        keeps_mean: True if the nodes of an asynchronous method without gradients agree at the mean of their initial
            points, whatever their speeds and the losses.
        cite: The publication.
        source: Where the rule was read: the paper with its arXiv number or DOI and the number of the algorithm, or
            the code with its repository, file and commit. Also deviations from it.
        provenance: Whether somebody compared the rule with the paper's text (``"paper"``) or the authors' code
            (``"code"``). Otherwise ``"reconstructed"``, from summaries, third-party code or memory.
        published: False for a method without a publication.
        label: The name in figures and tables.
        family: The method that this one is a variant of. Methods of one family share a color.
    """

    name: str
    vectors_per_step: float
    scalars_per_step: float = 0
    rounds: float = 1
    samples: int = 1
    gradients: int = 1
    start_samples: int = 0
    start_rounds: int = 0
    needs: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    exact: bool = False
    common_start: bool = False
    estimates: str | None = None
    tracks: Mapping[str, str] = field(default_factory=dict)
    averages: str | None = None
    zero_sum: tuple[str, ...] = ()
    report: str | None = None
    bounded_step: bool = False
    centralized_equivalent: CentralizedEquivalent = False
    fixed_point: FixedPoint = "exact"
    diagnostic_states: tuple[str, ...] = ()
    scale_free: bool = False
    lambda_min: float | None = None
    exact_average: bool = False
    accelerates: int = 0
    static: bool = False
    requires_float64: bool = False
    mixes: Mixes = "doubly"
    proximal: bool = False
    compresses: Compresses = "no"
    events: EventPattern | None = None
    keeps_mean: bool = False
    cite: str
    source: str = ""
    provenance: Provenance = "unstated"
    published: bool = True
    label: str
    family: str

    @property
    def asynchronous(self) -> bool:
        """True if the nodes do not take their steps together."""
        return self.events is not None

    @property
    def mark(self) -> str:
        """The mark of the method in tables, a key of ``MARKS``; empty if the method is rankable."""
        return mark_of(self.provenance, self.published)

    @property
    def rankable(self) -> bool:
        """True if a ranking may include the method: it is published, and its rule is verified."""
        return not self.mark
