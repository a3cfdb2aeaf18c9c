"""What a method is when an option takes its momentum, its memory or its network away: another one, step by step."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from bench.base.layout import Layout
from bench.base.registry import algorithms
from bench.contracts.simulate import Trace, simulate
from bench.network.mixing import build_mixing
from tests.algorithms.literal.averaged import msgn
from tests.algorithms.literal.common import eigenvalues, lazy, omega
from tests.helpers import noisy

T, ETA = 40, 0.05
KINDS, GRAPHS = ("diminishing", "fixed", "constant"), ("ring", "random", "complete")
COLUMN = Layout({"x": (noisy.D,)})
"""A model that is one vector, and to who works with matrices one column."""


class Way(NamedTuple):
    """A method with options and the one that it is then."""

    method: str
    options: Mapping[str, Any]
    parent: str
    given: Mapping[str, Any] = MappingProxyType({})
    kinds: tuple[str, ...] = KINDS
    graphs: tuple[str, ...] = GRAPHS
    on: Any = None  # what the parent's W is, if not the same
    one_start: bool = False
    after: int = 0  # steps until they are equal, from when the parent goes on where the method is
    states: dict[str, str] | None = None  # what the parent's states are in the method then

    def __str__(self) -> str:
        words = [
            f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}" for key, value in self.given.items()
        ]
        return f"{self.method} is {' '.join([self.parent, *words])}"


def one_accelerated_round(W: np.ndarray) -> np.ndarray:
    w = omega(max(abs(eigenvalues(W))))
    return (1 + w) * W - w * np.eye(len(W))


def constant(method: str, options: dict, parent: str, given: dict, **rest: Any) -> Way:
    """Of methods whose schedules differ otherwise."""
    return Way(method, options, parent, given, kinds=("constant",), **rest)


MUON = float(msgn(np.ones((1, 1, 1)))[0, 0, 0])
"""What five Newton–Schulz steps make of a singular value 1."""
ADAM = {"beta1": 0.7, "beta2": 0.9, "epsilon": 0.1}
NO_SCALES = {"beta1": 0.0, "beta2": 1.0, "epsilon": 1.0}
IN_BEER = {"x": "x", "y": "v", "v": "g"}
IN_DOCOM = {"x": "x", "h": "h", "wh": "wh", "v": "y", "q": "q", "wq": "wq", "g": "v"}

HOLD = [
    Way("dsgdm", {"beta": 0.0}, "dsgd"),
    Way("decentlam", {"beta": 0.0}, "dsgd"),
    Way("qg_dsgdm", {"beta": 0.0}, "dsgd"),
    Way("qg_dsgdm", {"beta": 0.0, "nesterov": True}, "dsgd"),
    Way("dsgd_clip", {"tau": 1e9}, "dsgd"),
    Way("dsgd_cclip", {"tau": 1e9}, "dsgd"),
    Way("sgp", {}, "dsgd"),
    Way("mg_dsgd", {"rounds": 1}, "dsgd", on=one_accelerated_round),
    Way("choco", {"gamma": 1.0}, "dsgd"),
    Way("choco", {"gamma": 0.3}, "dsgd", on=lambda W: 0.7 * np.eye(len(W)) + 0.3 * W),
    Way("choco", {"gamma": 1.0, "order": "overlapped"}, "dsgd", {"order": "combine_while_adapting"}, after=1),
    Way("fspda", {"pull": 1e-300, "gamma": 1.0}, "dsgd", {"order": "combine_while_adapting"}),
    Way("damsgrad", NO_SCALES, "dsgd", {"order": "combine_while_adapting"}),
    Way("dadam_written", NO_SCALES, "dsgd", {"order": "combine_while_adapting"}),
    Way("edm", {"beta": 0.0}, "d2"),
    Way("edm", {"beta": 0.0, "lazy": True}, "ed"),
    Way("ed", {}, "d2", on=lazy),
    Way("led", {"local_steps": 1}, "d2"),
    Way("led", {"local_steps": 1, "b": 1.0}, "d2"),
    Way("proxskip", {"p": 1.0, "c": 1.0}, "d2"),
    Way("proxskip", {"p": 1.0, "c": 0.5}, "ed"),
    Way("dsgt", {}, "gt", {"form": "semi"}),
    Way("kgt", {"local_steps": 1}, "gt", {"form": "semi"}),
    Way("push_diging", {}, "gt", {"form": "semi"}),
    Way("push_pull", {}, "gt", {"form": "semi"}),
    Way("dsgt_hb", {"beta": 0.0, "momentum": "given"}, "gt", {"form": "atc"}, on=lazy),
    Way("momentum_tracking", {"beta": 0.0}, "gt", {"form": "awc"}),
    Way("gt_adam", NO_SCALES, "gt", {"form": "awc"}),
    Way("beer", {"gamma": 1.0}, "gt", {"form": "awc"}, after=1, states=IN_BEER),
    Way("docom", {"gamma": 1.0, "beta": 1.0}, "gt", {"form": "awc"}, after=1, states={"x": "x", "y": "y", "v": "v"}),
    Way("docom", {"beta": 1.0}, "beer", states=IN_DOCOM),  # from its own start, where H⁰ = X⁰
    Way("motef", {"weight": 1.0}, "beer"),
    Way("gt_hsgd", {"beta": 1.0}, "gt", {"form": "atc", "begins": "mixed"}),
    constant("deepstorm", {"a0": ETA, "b0": 1e9}, "gt", {"form": "semi", "eta": ETA}),
    constant(
        "adamdos",
        {"pace": 1.0, "fading": 1.0, "floor": 1.0, "beta": 0.3, "eta": ETA},
        "deepstorm",
        {"a0": ETA, "b0": 0.3 / ETA**2},
    ),
    Way("dasa", {}, "dasagt", {"average": "gradient"}),
    constant(
        "dnsgd", {"rounds": 1, "eta": ETA}, "gt_nsgdm", {"multiplier": ETA, "alpha": 1.0}, on=one_accelerated_round
    ),
    constant("demuon", {"eta": ETA, "theta": 0.3}, "gt_nsgdm", {"multiplier": MUON * ETA, "alpha": 0.3}),
    Way("gt_hsgd", {"beta": 0.3}, "storm", {"beta": 0.3}, graphs=("complete",), one_start=True),
    Way("dnasa", {}, "nsgdm", {"order": "delayed"}, graphs=("complete",), one_start=True),
    constant("gt_nsgdm", {"alpha": 0.3}, "nsgdm", {"alpha": 0.3}, graphs=("complete",), one_start=True),
    Way("dadam", ADAM, "adam", ADAM, graphs=("alone",)),
    Way("dadam_written", {**ADAM, "variant": "released"}, "adam", ADAM, graphs=("alone",)),
    Way("d_dog", {"epsilon": 0.01}, "dog", {"epsilon": 0.01}, graphs=("alone",)),
    Way("dadagrad_norm", {"epsilon": 0.25}, "adagrad_norm", {"b0": 0.5}, graphs=("alone",)),
]
DO_NOT_HOLD = [
    Way("docom", {"beta": 1.0}, "beer"),  # its H⁰ is X⁰, not 0
    Way("choco", {"gamma": 1.0, "order": "overlapped"}, "dsgd", {"order": "combine_while_adapting"}),  # H⁰ = 0
    Way("beer", {"gamma": 1.0}, "gt", {"form": "awc"}),  # likewise
    Way("led", {"local_steps": 1}, "ed", graphs=("ring", "random")),  # which is lazy
    Way("gt_hsgd", {"beta": 1.0}, "gt", {"form": "atc"}, graphs=("ring", "random")),  # Y⁰ = G⁰ there
    constant("deepstorm", {"a0": ETA, "b0": 1e9}, "gt", {"form": "awc", "eta": ETA}),  # its X mixes the tracker
    Way("dadam", ADAM, "adam", ADAM, graphs=("complete",), one_start=True),  # squares of averages, averages of squares
    Way("dadagrad_norm", {"epsilon": 0.25}, "adagrad_norm", {"b0": 0.5}, graphs=("complete",), one_start=True),
]


@cache
def matrix(graph: str) -> np.ndarray:
    return np.ones((1, 1)) if graph == "alone" else build_mixing(graph, noisy.N, lazy=graph != "complete").matrices[0]


def run(cls, options: Mapping[str, Any], way: Way, on: Any = None) -> Trace:
    """All graphs and schedules at once, each a replica."""
    cases = [(kind, graph) for kind in way.kinds for graph in way.graphs]
    w = np.stack([on(matrix(graph)) if on else matrix(graph) for _, graph in cases])
    alone = way.graphs == ("alone",)
    x = noisy.start()[:, :1].expand(-1, noisy.N, -1) if way.one_start else noisy.start()
    x = (x[:, :1] if alone else x).expand(len(cases), -1, -1)
    step = {"eta": ETA} if "eta" in cls.stepsize_options() else {}
    replicas = [{**step, **options, "schedule": kind} for kind, _ in cases]
    gradient = noisy.gradient_alone if alone else noisy.gradient
    return simulate(cls, torch.as_tensor(w), gradient, x, T, replicas, layout=COLUMN)


def apart(way: Way) -> torch.Tensor:
    """Of each case, the largest relative difference over all steps from which on they are to be equal."""
    ours = run(algorithms[way.method], way.options, way)
    parent = algorithms[way.parent]
    if way.after or way.states:
        begun = ours.states[way.after]

        class GoesOn(parent):
            def start(self, x, grad, mix):
                state = super().start(x, grad, mix)
                named = way.states or {name: name for name in state._fields}
                return state._replace(**{mine: getattr(begun, theirs) for mine, theirs in named.items()})

            def step(self, s, t, grad, mix):
                return super().step(s, t, grad, mix) if t >= way.after else s

        parent = GoesOn
    theirs = run(parent, way.given, way, way.on).x()[way.after :]
    x = ours.x()[way.after :]
    assert ((x[-1] - x[0]).abs().amax((1, 2)) > 1e-2).all()  # something happened
    return ((x - theirs).abs() / theirs.abs().amax((2, 3), keepdim=True)).amax((0, 2, 3))


@pytest.mark.parametrize("way", HOLD, ids=str)
def test_is_another_method_then(way):
    assert apart(way).max() <= 1e-12


@pytest.mark.parametrize("way", DO_NOT_HOLD, ids=str)
def test_is_not_that_method(way):
    assert apart(way).min() > 1e-3


def test_combining_first_is_adapting_first_from_a_start_that_was_mixed():
    w, x = torch.as_tensor(matrix("ring")), noisy.start()
    options = {"schedule": "constant", "eta": ETA, "order": "combine_then_adapt"}
    combined = simulate(algorithms["dsgd"], w, noisy.gradient, x, T, options).x()
    adapted = simulate(algorithms["dsgd"], w, noisy.gradient, w @ x, T, {**options, "order": "adapt_then_combine"}).x()
    assert (w @ combined - adapted).abs().max() <= 1e-12 * adapted.abs().max()
