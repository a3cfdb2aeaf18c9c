"""``play`` runs an asynchronous method on plain tensors and records every event, for tests and contracts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.layout import Layout
from bench.base.node_samples import NodeSamples
from bench.build.events import arcs_of
from bench.clock.compute import Compute
from bench.events.tape import Tape, draw_tape
from bench.method.asynchronous import Asynchronous, Graph, sending
from bench.method.schedules import Schedule
from bench.method.trajectory import assemble
from bench.network.mixing import build_mixing
from bench.problem.problem import Evaluation, Problem, Setting, vector_layout
from bench.training.costs import CostCounter
from bench.training.events import Events

NodeGradient = Callable[[Tensor, np.ndarray], Tensor]
"""A function of points (R, n, P) and of the sample number of every node, (n,), that returns gradients (R, n, P)."""
UNIT = 1_000_000
"""Nanoseconds of a nominal gradient."""


@dataclass(frozen=True)
class Pace:
    """The graph, the speeds and the delays of a run on plain tensors.

    Attributes:
        topology: The name of the graph.
        nodes: The number of nodes.
        slow: How many times longer node 0 computes.
        jitter: σ of lognormal compute times.
        delay: The time of a message, in nominal gradients.
        drop: The probability that a message is lost.
        seed: The seed of the tape.
        scale: A factor of all times.
    """

    topology: str = "ring"
    nodes: int = 6
    slow: float = 4.0
    jitter: float = 0.3
    delay: float = 0.6
    drop: float = 0.0
    seed: int = 0
    scale: int = 1

    def graph(self) -> Graph:
        """Return the arcs."""
        return Graph(self.nodes, *arcs_of(build_mixing(self.topology, self.nodes)))

    def tape(self, cls: type[Asynchronous], steps: int, options: Mapping[str, Any]) -> Tape:
        """Return the events of a method."""
        graph, known = self.graph(), {name: o.default for name, o in cls.structure_options().items()}
        unit = UNIT * self.scale
        # arcs differ by a few nanoseconds, so that messages of different nodes do not arrive together
        delays = round(self.delay * unit) + np.arange(len(graph.source)) * self.scale
        compute = Compute(unit / 1e9, lognormal_sigma=self.jitter, slow_node=0, slow_factor=self.slow)
        pattern = cls.declare_for(options).events
        assert pattern is not None
        rate = float({**known, **options}.get("rate", 1.0))
        return draw_tape(
            *(pattern, graph.source, graph.target, delays, compute, self.seed, self.nodes, steps),
            lost=self.drop,
            rate=rate,
            sends=sending(cls, {**known, **options}),
        )


USUAL = Pace()


class Event(NamedTuple):
    """What happened, in which step and to whom; the columns are those of the tape."""

    t: int
    time: int
    kind: int
    node: int
    peer: int
    number: int


Moment = tuple[int, Any, Mapping[str, Tensor]]
"""A step, its state, and what was between the nodes."""


@dataclass
class Played:
    """The record of a run.

    Attributes:
        tape: All events that could be played.
        events: Those that were.
        states: The states after 0, 1, … gradients and pairs; messages come between them.
        ends: The step, the state, and what was between the nodes, after every step; see ``begin`` of ``play``.
        costs: The columns of costs of a run.
    """

    tape: Tape
    events: list[Event] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)
    ends: list[Moment] = field(default_factory=list)
    costs: dict[str, Any] = field(default_factory=dict)

    def x(self) -> Tensor:
        """Return x after 0, 1, … gradients and pairs, (1 + gradients + pairs, R, n, P)."""
        return torch.stack([state.x for state in self.states])

    @property
    def end(self) -> Any:
        """The last state."""
        return self.ends[-1][1]


def play(
    cls: type[Asynchronous],
    gradient: NodeGradient,
    x: Tensor,
    steps: int,
    options: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    pace: Pace = USUAL,
    *,
    keep: bool = True,
    layout: Layout | None = None,
    eta: Sequence[float] | None = None,
    begin: Moment | None = None,
    tape: Tape | None = None,
    length: int | None = None,
) -> Played:
    """Run an asynchronous method for ``steps`` nominal gradient times on plain tensors, without a configuration.

    Args:
        cls: The method, a class decorated with ``@algorithm``.
        gradient: ``gradient(x, numbers)`` returns the nodes' gradients, (R, n, P), on their sample numbers, (n,).
        x: The start, (R, n, P).
        steps: How many steps to make, T.
        options: The method's options, one mapping for all runs or one for each. Missing options have their defaults.
        pace: The graph, the speeds and the delays.
        keep: Whether to keep all states, or only the last.
        layout: Which tensors the P parameters form, if more than one.
        eta: One constant stepsize per replica, which replaces those of the method.
        begin: A moment of ``Played.ends`` to continue from.
        tape: The events, if not those of ``pace``.
        length: The steps of the tape, if it goes on after the last step.

    Returns:
        A ``Played`` with the events, the states after them, and the costs.

    Example:
        >>> play(MyMethod, lambda x, numbers: x, torch.ones(1, 6, 2, dtype=torch.float64), 10).x().shape[1:]
        torch.Size([1, 6, 2])
    """
    known = {k: o.default for k, o in {**cls.stepsize_options(), **cls.structure_options()}.items()}
    replicas = [options] * len(x) if isinstance(options, Mapping) else list(options) or [{}] * len(x)
    given = [{**known, **replica} for replica in replicas]
    out = Played(tape=tape or pace.tape(cls, length or steps, given[0]))
    watched = _watched(cls, out) if keep else cls
    layout = layout or vector_layout(x.shape[-1])
    method = assemble(watched, layout, given, n=pace.nodes, T=max(1, length or steps), dtype=x.dtype)
    if eta is not None:
        method.eta = Schedule(np.tile(np.asarray(eta, dtype=np.float64), (max(1, length or steps), 1)), x.dtype)
    mixing = build_mixing(pace.topology, pace.nodes)
    problem = _Plain(gradient, x, layout)
    costs = CostCounter(problem, [mixing] * len(x))
    slow = np.ones(pace.nodes)
    slow[0] = pace.slow
    engine = Events(lambda bits: out.tape, pace.graph(), mixing.matrices[0], slow, sending(cls, given[0]))
    since, between = (begin[0], begin[2]) if begin else (0, {})
    engine.restore(between)
    engine.attach(method, problem, costs, since)
    with torch.inference_mode():
        state: Any = _copy(begin[1]) if begin else method.start(x, None, None)  # type: ignore[arg-type]
        out.states.append(_copy(state))
        out.ends.append((since, out.states[0], engine.kept()))
        for t in range(since, steps):
            state = engine.play(state, t)
            if keep or t == steps - 1:
                out.ends.append((t + 1, _copy(state), engine.kept()))
    low, high = (int(row) for row in out.tape.upto(np.array([since, steps])))
    columns = [getattr(out.tape, name)[low:high].tolist() for name in ("time", "kind", "node", "peer", "number")]
    unit = out.tape.unit
    out.events = [Event(-(-time // unit) - 1, time, *rest) for time, *rest in zip(*columns, strict=True)]
    out.costs = costs.row(0)
    return out


def _watched(cls: type[Asynchronous], out: Played) -> type[Asynchronous]:
    """Return the method with a record of its states."""

    class Watched(cls):  # type: ignore[valid-type, misc]
        def on_gradient(self, s: Any, node: Any, g: Tensor) -> None:
            super().on_gradient(s, node, g)
            out.states.append(_copy(s))

        def on_pair(self, s: Any, one: Any, other: Any) -> None:
            super().on_pair(s, one, other)
            out.states.append(_copy(s))

    return Watched


def _copy(state: Any) -> Any:
    return type(state)(*(value.clone() for value in state))


class _Plain(Problem):
    """Gradients of a function, with the sample number of every node."""

    def __init__(self, gradient: NodeGradient, x: Tensor, layout: Layout) -> None:
        super().__init__(Setting(x.shape[1], range(x.shape[1]), tuple(range(len(x))), 1, x.dtype, x.device))
        self._gradient, self._x, self.layout = gradient, x, layout

    def start(self) -> Tensor:
        return self._x

    def grad(self, x: Tensor, s: Any, stream: int = 0) -> Tensor:
        return self._gradient(x, s.numbers if isinstance(s, NodeSamples) else np.full(x.shape[1], s))

    def evaluate(self, mean: Tensor) -> Evaluation:
        raise NotImplementedError
