"""On the complete graph, from one start: who says ``pooled`` does what a machine that holds all data would."""

import math
import pkgutil
from dataclasses import replace

import numpy as np
import pytest
import torch

import algorithms as package
from bench.base.registry import algorithms
from bench.contracts import methods as contract
from bench.contracts.simulate import simulate
from tests.algorithms.literal import LAYOUT, OPTIONS, PARTS, RULES, VARIANTS
from tests.algorithms.literal.averaged import msgn, stepsizes_of_dnasa
from tests.algorithms.literal.common import norm, root, unit
from tests.helpers import noisy
from tests.helpers.synchronous import SYNCHRONOUS

T, KINDS = 50, ("diminishing", "fixed", "constant")
EVERYONE = np.full((noisy.N, noisy.N), 1 / noisy.N)


def g(x, s, stream=0):
    """The average of all nodes' gradients at one x."""
    return noisy.G(np.stack([x] * noisy.N), s, stream).mean(axis=0)


def eta(kind, t, o):
    return o["eta"] * root(kind, noisy.N, t, T)


def sgd(x, kind, o):
    for t in range(T):
        yield (x := x - eta(kind, t, o) * g(x, t))


def of_four(x, t):
    return sum(g(x, 4 * t + k) for k in range(4)) / 4


def sgd_in_batches(x, kind, o):
    for t in range(T):
        yield (x := x - eta(kind, t, o) * of_four(x, t))


def late_sgd_in_batches(x, kind, o):
    """Steps along the gradient before the newest; the first is of another sample."""
    before = g(x, 0, stream=1)
    for t in range(T):
        x, before = x - eta(kind, t, o) * before, of_four(x, t)
        yield x


def heavy_ball(x, kind, o):
    m = 0 * x
    for t in range(T):
        m = o["beta"] * m + g(x, t)
        yield (x := x - eta(kind, t, o) * m)


def heavy_ball_that_waits(x, kind, o):
    """Its momentum begins with the first step that is not 0."""
    m = 0 * x
    for t in range(T):
        m = o["beta"] * m + g(x, t) if eta(kind, t, o) > 0 else m
        yield (x := x - eta(kind, t, o) * m)


def quasi_global(x, kind, o):
    m = 0 * x
    for t in range(T):
        move = o["beta"] * m + g(x, t)
        m = o["mu"] * m + (1 - o["mu"]) * move if eta(kind, t, o) > 0 else m
        yield (x := x - eta(kind, t, o) * move)


def averaged_momentum(x, kind, o):
    m = 0 * x
    for t in range(T):
        m = o["beta"] * m + (1 - o["beta"]) * g(x, t)
        yield (x := x - eta(kind, t, o) * m)


def averaged_stochastic_approximation(x, kind, o):
    z = 0 * x
    for t in range(T):
        step = o["eta"] if kind == "fixed" else eta(kind, t, o)
        alpha = o["alpha"] if kind == "constant" else min(0.3, root(kind, noisy.N, t, T))
        x, z = x - alpha * step * z, (1 - alpha) * z + alpha * g(x, t)
        yield x


def normalized_sgd(x, kind, o):
    for t in range(T):
        yield (x := x - eta(kind, t, o) * unit(g(x, t)))


def delayed_nsgdm(x, kind, o):
    m = 0 * x
    for t in range(T):
        step, alpha = stepsizes_of_dnasa(kind, noisy.N, t, T, o)
        x, m = x - step * unit(m), (1 - alpha) * m + alpha * g(x, t)
        yield x


def nsgdm_of_powers(x, kind, o):
    m, of = 0 * x, 3 * o["p"] - 2
    for t in range(T):
        h = {"diminishing": t or np.inf, "fixed": T}.get(kind)
        step = o["multiplier"] * (h ** (-(2 * o["p"] - 1) / of) if h else 1)
        alpha = min(1.0, h ** (-o["p"] / of)) if h else o["alpha"]
        m = (1 - alpha) * m + alpha * g(x, t)
        yield (x := x - step * unit(m))


def muon(x, kind, o):
    m = 0 * x
    for t in range(T):
        m = (1 - o["theta"]) * m + o["theta"] * g(x, t)
        parts = [m[part].reshape(1, shape[0], -1) for part, shape in zip(PARTS, LAYOUT.shapes.values(), strict=True)]
        yield (x := x - eta(kind, t, o) * np.concatenate([msgn(part).ravel() for part in parts]))


def storm_of_powers(x, kind, o):
    steps = [o["a0"] / (1 if kind == "constant" else (t + o["k0"]) ** (1 / 3)) for t in range(T + 1)]
    v = g(x, 0)
    for t in range(T):
        beta = min(1.0, 1 - steps[t + 1] / steps[t] + o["b0"] * steps[t + 1] ** 2)
        x, before = x - steps[t] * v, x
        v = g(x, t + 1) + (1 - beta) * (v - g(before, t + 1))
        yield x


def anytime(x, kind, o):
    """Gradients at the average of the iterates with weights 1, 2, …"""
    w, weighted = x, 0 * x
    for t in range(T):
        w = w - eta(kind, t, o) * (t + 1) / T * g(x, t)
        weighted = weighted + (t + 1) * w
        yield (x := weighted / ((t + 1) * (t + 2) / 2))


def bettor(x, kind, o):
    """The bettor of Krichevsky and Trofimov: a fraction S/(t+1) of its wealth, which begins at 1."""
    first, coins, wealth = x, [], 1.0
    for t in range(T):
        coins.append(-g(x, t) / o["bound"])
        wealth = wealth + coins[-1] @ (x - first)
        yield (x := first + sum(coins) / (len(coins) + 1) * wealth)


def adgd(x, kind, o):
    """Adaptive gradient descent without descent: two steps of length ε, then the local curvature."""
    step = before = o["epsilon"]
    old, slope = x, g(x, 0)
    for t in range(T):
        if t > 1:
            local = norm(x - old) / (2 * norm(g(x, t) - slope))
            step, before = min(math.sqrt(1 + step / before) * step, local), step
        old, slope = x, g(x, t)
        yield (x := x - step * slope)


def reference(name):
    """One of the suite, as its literal rule says it."""

    def rule(x, kind, o):
        yield from (X[0] for X in RULES[name](np.stack([x] * noisy.N), EVERYONE, noisy.G, kind, T, o)[1:])

    return rule


COUNTERPARTS = {
    **dict.fromkeys(("dsgd", "sgp", "d2", "gt", "dsgt", "push_diging", "push_pull"), sgd),
    "mg_dsgd": sgd_in_batches,
    "detag": late_sgd_in_batches,
    "dsgdm": heavy_ball,
    "decentlam": heavy_ball_that_waits,
    "qg_dsgdm": quasi_global,
    "edm": averaged_momentum,
    "dasa": averaged_stochastic_approximation,
    "dasagt": averaged_stochastic_approximation,
    "dnsgd": normalized_sgd,
    "dnasa": delayed_nsgdm,
    "gt_nsgdm": nsgdm_of_powers,
    "demuon": muon,
    "dat_sgd": anytime,
    "deco": bettor,
    "autostep_gt": adgd,
    "gt_hsgd": reference("storm"),
    "deepstorm": storm_of_powers,
    **{name: reference(name) for name in ("nsgdm", "adagrad_norm", "adam", "dog", "prodigy", "storm")},
}


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_equals_its_centralized_counterpart(name):
    x, options = noisy.START[0], OPTIONS[name]
    central = np.stack([np.stack([x, *COUNTERPARTS[name](x, kind, options)]) for kind in KINDS], axis=1)
    start = torch.as_tensor(x).expand(len(KINDS), noisy.N, -1)
    replicas = [{**options, "schedule": kind} for kind in KINDS]
    ours = simulate(algorithms[name], torch.as_tensor(EVERYONE), noisy.gradient, start, T, replicas, layout=LAYOUT)
    assert np.abs(ours.x().mean(2).numpy() - central).max() <= 1e-12 * np.abs(central).max()


NAMES = [module.name for module in pkgutil.iter_modules(package.__path__) if module.name in SYNCHRONOUS]
FORMS = [(name, {}) for name in NAMES] + VARIANTS


def test_every_method_of_the_suite_that_says_so_has_a_counterpart():
    assert set(COUNTERPARTS) == {name for name in NAMES if algorithms[name].declare_for({}).centralized_equivalent}


def test_who_says_that_this_is_sgd_has_sgd():
    assert {name for name, rule in COUNTERPARTS.items() if rule is sgd} == {
        name for name in NAMES if algorithms[name].declare_for({}).centralized_equivalent == "sgd"
    }


@pytest.mark.parametrize(
    ("name", "variant"), [f for f in FORMS if not algorithms[f[0]].declare_for(f[1]).centralized_equivalent]
)
def test_who_does_not_say_so_has_none(name, variant):
    """Who adapts while combining, clips, is lazy, compresses, goes alone for a while or has a scale of its own."""

    class Claims(algorithms[name]):
        @classmethod
        def declare_for(cls, given):
            return replace(super().declare_for(given), centralized_equivalent=True)

    claims = type(name, (Claims,), variant)
    with pytest.raises(contract.CheckFailed, match="on the complete graph"):
        contract.centralized(claims)
