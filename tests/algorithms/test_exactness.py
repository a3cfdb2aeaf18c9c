"""Where every method ends on heterogeneous quadratics with exact gradients and constant stepsizes: as it declares.

A method of the suite is in one of four tables. A row named by a method alone is the method as it comes; words behind
the name say how else it is.
"""

import pkgutil
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

import algorithms as package
from bench.base.registry import algorithms
from bench.contracts.simulate import simulate
from bench.network.mixing import build_mixing
from tests.algorithms.fixed_points import Bias
from tests.algorithms.literal.common import fast_gossip
from tests.helpers import exact
from tests.helpers.synchronous import SYNCHRONOUS

F, STEPS = exact.quadratics(), 600
BIAS = Bias(F)
RING = exact.ring().matrices[0]
PUSH, PULL = (w.dense() for w in build_mixing("random_digraph", exact.N).at(0)[1:])
EVERYONE = np.full((exact.N, exact.N), 1 / exact.N)
COMPRESSED = {"eta": 0.03, "gamma": 0.8}
ROOMY = {"epsilon": 1.0}
"""In the place of a tiny ε, beside which stepsizes grow without bound where gradients vanish."""

EXACT: dict[str, dict[str, Any]] = {
    "d2": {"eta": 0.2},
    "ed": {"eta": 0.2},
    "edm": {"eta": 0.2, "beta": 0.5},
    "edm lazy": {"eta": 0.2, "beta": 0.5, "lazy": True},
    "fspda": {"eta": 0.2, "pull": 0.3, "gamma": 0.9},
    "dsgt": {"eta": 0.06},
    "gt": {"eta": 0.06},
    "gt semi": {"eta": 0.06, "form": "semi"},
    "gt awc": {"eta": 0.06, "form": "awc"},
    "gt mixed": {"eta": 0.06, "begins": "mixed"},
    "gt local": {"eta": 0.1, "local_stepsizes": True},
    "autostep_gt": {},
    "autostep_gt twice": {"rounds": 2},
    "dgm_bb": {"eta": 0.1},
    "dgm_bb twice": {"eta": 0.3, "rounds": 2},
    "dsgt_hb": {"eta": 0.018, "beta": 0.5},
    "momentum_tracking": {"eta": 0.03, "beta": 0.5},
    "dsmt": {"eta": 0.05},
    "dsmt given": {"eta": 0.05, "momentum": "given", "beta": 0.5},
    "dasagt": {"eta": 0.2, "alpha": 0.3},
    "gt_hsgd": {"eta": 0.06},
    "deepstorm": {"a0": 0.06},
    "adamdos": {"eta": 0.1, "floor": 0.5},
    "kgt": {"eta": 0.02, "local_steps": 3},
    "led": {"eta": 0.1, "local_steps": 3},
    "proxskip": {"eta": 0.2, "p": 0.5},
    "detag": {"eta": 0.1, "rounds": 2},
    "beer": COMPRESSED,
    "motef": {**COMPRESSED, "weight": 0.5},
    "docom": COMPRESSED,
    "push_diging": {"eta": 0.03},
    "push_pull": {"eta": 0.03},
    "gt_adam": {"eta": 0.05, **ROOMY},
    "adam": {"eta": 0.2, **ROOMY},
    "prodigy": ROOMY,
    "adagrad_norm": {},
    "dog": {"epsilon": 0.01},
    "d_dog": {"epsilon": 0.01},
    "d_dog three rounds": {"epsilon": 0.01, "form": "three_rounds"},
    "storm": {"eta": 0.2},
}
"""They reach the minimizer, every node of them."""
LONGER = {"dsgt_hb": 1000, "dsmt": 800, "autostep_gt": 800, "dgm_bb": 800}


def atc(eta: float, w: np.ndarray = RING) -> np.ndarray:
    return BIAS.adapt_then_combine(w, eta)


SHORT = {"eta": 0.1}
BIASED: dict[str, tuple[dict[str, Any], np.ndarray]] = {
    "dsgd": (SHORT, atc(0.1)),
    "dsgd awc": ({**SHORT, "order": "combine_while_adapting"}, BIAS.combine_while_adapting(RING, 0.1)),
    "dsgd cta": ({**SHORT, "order": "combine_then_adapt"}, BIAS.combine_then_adapt(RING, 0.1)),
    "dsgdm": ({**SHORT, "beta": 0.5}, atc(0.1 / (1 - 0.5))),  # the momentum is 2 G
    "decentlam": ({**SHORT, "beta": 0.5}, atc(0.1)),  # 0: what it adds to the bias of dsgdm is gone
    "qg_dsgdm": ({**SHORT, "beta": 0.5}, atc(0.1)),  # likewise
    "qg_dsgdm nesterov": ({**SHORT, "beta": 0.5, "nesterov": True}, atc(0.1 * (1 + 0.5))),
    "dasa": ({"eta": 0.2, "alpha": 0.3}, BIAS.averaged(RING, 0.2, 0.3)),
    "mg_dsgd": ({**SHORT, "rounds": 2}, atc(0.1, fast_gossip(RING, 2)(np.eye(exact.N)))),
    "choco": ({**SHORT, "gamma": 0.8}, atc(0.1, 0.2 * np.eye(exact.N) + 0.8 * RING)),
    "choco overlapped": (
        {**SHORT, "gamma": 0.8, "order": "overlapped"},
        BIAS.combine_while_adapting(0.2 * np.eye(exact.N) + 0.8 * RING, 0.1),
    ),
    "sgp": (SHORT, BIAS.pushed(PUSH, 0.1)),
}
"""They stop at the solution of a linear system, which is another point."""

NEARER: dict[str, tuple[dict[str, Any], str, tuple[float, float, float]]] = {
    "dnasa": ({"alpha": 0.3}, "multiplier", (0.1, 0.03, 0.01)),
    "gt_nsgdm": ({"alpha": 0.3}, "multiplier", (0.1, 0.03, 0.01)),
    "nsgdm": ({"alpha": 0.3}, "multiplier", (0.1, 0.03, 0.01)),
    "dnsgd": ({"rounds": 2}, "eta", (0.1, 0.03, 0.01)),
    "demuon": ({"theta": 0.3}, "eta", (0.2, 0.06, 0.02)),
    "damsgrad": ({}, "eta", (0.1, 0.03, 0.01)),
    "dadagrad_norm": ({}, "eta", (5.0, 2.0, 1.0)),
    "dat_sgd": ({}, "eta", (1.0, 0.3, 0.1)),
    "dda": ({}, "eta", (0.1, 0.03, 0.01)),
    "deco": ({}, "bound", (10.0, 20.0, 30.0)),  # smaller bounds than the gradients at first
}
"""Their steps do not vanish with the gradient, or differ among the nodes: as η shrinks they come nearer."""

ELSEWHERE: dict[str, tuple[dict[str, Any], str, tuple[float, float, float]]] = {
    "dadam": ({}, "eta", (0.1, 0.03, 0.01)),
    "dadam_written": ({}, "eta", (0.1, 0.03, 0.01)),
    "dadam_written released": ({"variant": "released"}, "eta", (0.1, 0.03, 0.01)),
    "accum_adam": ({}, "eta", (0.1, 0.03, 0.01)),
    "dsgd_n": ({}, "eta", (0.1, 0.03, 0.01)),
    "dsgd_clip": ({}, "eta", (0.2, 0.1, 0.05)),
    "dsgd_cclip": ({}, "eta", (0.2, 0.1, 0.05)),
    "sclip_ef": ({}, "eta", (0.2, 0.1, 0.05)),
    "dadagrad_norm untracked": ({"track": False}, "eta", (5.0, 2.0, 1.0)),
}
"""Every node divides by a scale of its own: they solve another problem, however small η is."""


def end(
    row: str, options: dict[str, Any] | list[dict[str, Any]], f: Any = F.grad, times: int = 1, turned: bool = False
):
    cls = algorithms[row.split()[0]]
    properties = cls.declare_for({})
    w = RING if properties.mixes == "doubly" else PUSH
    w, pull = (torch.as_tensor(m.T if turned else m) for m in (EVERYONE if properties.exact_average else w, PULL))
    given = [
        {"schedule": "constant", **o} for o in ([options] * len(exact.SEEDS) if isinstance(options, dict) else options)
    ]
    return (
        simulate(cls, w, f, F.start().repeat(times, 1, 1), LONGER.get(row, STEPS), given, pull=pull, keep=False)
        .states[-1]
        .x
    )


@pytest.mark.parametrize("row", EXACT)
def test_reaches_the_minimizer(row):
    far = end(row, EXACT[row]) - F.minimizer.unsqueeze(1)
    assert far.norm(dim=-1).max() <= 1e-8


@pytest.mark.parametrize("row", ["push_diging", "push_pull"])
def test_matrices_the_wrong_way_round_are_noticed(row):
    assert not exact.distance(end(row, EXACT[row], turned=True), F) <= 1e-2


@pytest.mark.parametrize("row", BIASED)
def test_stops_at_the_fixed_point_of_its_linear_system(row):
    options, point = BIASED[row]
    assert np.abs(end(row, options).numpy() - point).max() <= 1e-8 * np.abs(point).max()
    assert (np.linalg.norm(point.mean(1) - F.minimizer.numpy(), axis=-1) > 1e-3).all()


def with_stepsizes(row: str, options: dict[str, Any], name: str, values: tuple[float, ...]) -> torch.Tensor:
    """Where it ends with each stepsize, (stepsizes, problems, n, P), less the minimizer."""
    shape = len(values), len(exact.SEEDS)

    def gradient(x: torch.Tensor, s: int, stream: int) -> torch.Tensor:
        return F.full(x.unflatten(0, shape)).flatten(0, 1)

    each = [{**options, name: value} for value in values for _ in exact.SEEDS]
    return end(row, each, gradient, shape[0]).unflatten(0, shape) - F.minimizer.unsqueeze(1)


@pytest.mark.parametrize("row", NEARER)
def test_comes_nearer_as_its_stepsize_shrinks(row):
    off = with_stepsizes(row, *NEARER[row]).norm(dim=-1).amax(-1).square().mean(-1).sqrt()
    assert (off[1:] < 0.6 * off[:-1]).all()


@pytest.mark.parametrize("row", ELSEWHERE)
def test_ends_elsewhere_however_small_its_stepsize_is(row):
    off = with_stepsizes(row, *ELSEWHERE[row]).mean(2).norm(dim=-1).square().mean(-1).sqrt()
    assert (off > 0.3).all()
    assert off[-1] > 0.8 * off[-2]


def test_clipped_gradients_cancel_where_gradients_do_not():
    x = (with_stepsizes("dsgd_clip", {}, "eta", (0.1,))[0] + F.minimizer.unsqueeze(1)).mean(1, keepdim=True)
    g = F.full(x.expand(-1, exact.N, -1))
    clipped = g * (1 / g.norm(dim=-1, keepdim=True)).clamp_max(1)
    assert clipped.mean(1).norm(dim=-1).max() < 0.02
    assert g.mean(1).norm(dim=-1).min() > 0.3


def test_with_a_tiny_epsilon_the_minimizer_is_reached_and_left():
    """Scales fade after the gradients have vanished, until steps are too long."""
    options = {"schedule": "constant"}
    trace = simulate(algorithms["prodigy"], torch.as_tensor(EVERYONE), F.grad, F.start(), 3000, options)
    off = [exact.distance(state.x, F) for state in trace.states[::100]]
    assert min(off) <= 1e-8
    assert off[-1] > 1e-3


ROWS = [
    *((row, options, "exact") for row, options in EXACT.items()),
    *((row, options, "near") for row, (options, *_) in {**BIASED, **NEARER}.items()),
    *((row, options, "elsewhere") for row, (options, *_) in ELSEWHERE.items()),
]


@pytest.mark.parametrize(("row", "options", "where"), ROWS)
def test_it_ends_where_it_declares(row, options, where):
    assert algorithms[row.split()[0]].declare_for(options).fixed_point == where


def test_every_method_of_the_suite_is_in_one_table():
    rows = [row for table in (EXACT, BIASED, NEARER, ELSEWHERE) for row in table if " " not in row]
    suite = [module.name for module in pkgutil.iter_modules(package.__path__) if module.name in SYNCHRONOUS]
    assert Counter(rows) == Counter(suite)
