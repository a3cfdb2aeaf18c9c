"""Every method of the suite equals its rule as printed."""

import pkgutil
from functools import cache

import numpy as np
import pytest
import torch

import algorithms as package
from bench.base.prox import stays
from bench.base.registry import algorithms
from bench.contracts.simulate import Trace, simulate
from bench.method.schedules import Schedule
from bench.network.mixing import build_mixing
from tests.algorithms.literal import DIRECTED, LAYOUT, OPTIONS, POOLED, REPORTED, RULES, VARIANTS
from tests.helpers import noisy
from tests.helpers.synchronous import SYNCHRONOUS

T = 50
KINDS = ("diminishing", "fixed", "constant")
NETWORKS = ("ring", "random", "bipartite", "complete")
ONE_WAY = ("directed_ring", "directed_exponential", "random_digraph")


@cache
def matrix(network: str, lazy: bool) -> np.ndarray:
    if network != "bipartite":
        return build_mixing(network, noisy.N, lazy=lazy).matrices[0]
    half = noisy.N // 2  # every node of one half knows every node of the other: here |λ_n| > λ₂
    across = np.kron(1 - np.eye(2), np.ones((half, half)))
    w = (np.eye(noisy.N) + across) / (half + 1)
    return (np.eye(noisy.N) + w) / 2 if lazy else w


def cases(name: str, networks: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(kind, network) for kind in KINDS for network in (("complete",) if name in POOLED else networks)]


def start_of(name: str) -> np.ndarray:
    """The references that know the exact average hold one x."""
    return np.stack([noisy.START[0]] * noisy.N) if name in POOLED else noisy.START


def is_lazy(cls, options: dict) -> bool:
    return cls.declare_for(options).lambda_min is not None


def coin_of(cls, seed: int):
    """The method's own coin, of the replica that has this seed."""
    tossing = cls(LAYOUT, {}, cls.properties, (seed,), {}, "cpu", 1, stays)
    return lambda t, p: bool(tossing.coin(t, p))


def literals(rule, cls, name: str, over: list[tuple[str, str]], variant: dict, like: dict | None = None) -> np.ndarray:
    """(steps + 1, cases, n, P). Replica r of a simulation has seed r; networks are those of the variant ``like``."""
    options = {**OPTIONS[name], **variant}
    lazy, x = is_lazy(cls, {**OPTIONS[name], **(variant if like is None else like)}), start_of(name)
    runs = [
        rule(x, matrix(network, lazy), noisy.G, kind, T, {**options, "coin": coin_of(cls, r)})
        for r, (kind, network) in enumerate(over)
    ]
    return np.stack(runs, axis=1)


def simulated(cls, name: str, over: list[tuple[str, str]], variant: dict) -> Trace:
    """All cases at once, each a replica."""
    options = {**OPTIONS[name], **variant}
    w = torch.as_tensor(np.stack([matrix(network, is_lazy(cls, options)) for _, network in over]))
    x = torch.as_tensor(start_of(name)).expand(len(over), -1, -1)
    replicas = [{**options, "schedule": kind} for kind, _ in over]
    return simulate(cls, w, noisy.gradient, x, T, replicas, layout=LAYOUT)


def differences(ours: np.ndarray, literal: np.ndarray, over: list) -> dict:
    """Of each case, the largest relative difference over all steps between the suite and the literal rule."""
    assert (np.abs(literal[-1] - literal[0]).max(axis=(1, 2)) > 1e-2).all()  # something happened
    off = (np.abs(ours - literal) / np.abs(literal).max(axis=(2, 3), keepdims=True)).max(axis=(0, 2, 3))
    return dict(zip(over, off.tolist(), strict=True))


def difference(cls, name: str, over: list[tuple[str, str]], variant: dict) -> dict:
    literal = literals(RULES[name], cls, name, over, variant)
    return differences(simulated(cls, name, over, variant).x().numpy(), literal, over)


def too_far(off: dict) -> dict:
    return {case: value for case, value in off.items() if not value <= 1e-12}


@pytest.mark.parametrize("name", RULES)
def test_equals_the_literal_rule(name):
    assert too_far(difference(algorithms[name], name, cases(name, NETWORKS), {})) == {}


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_variants_equal_their_literal_rules(name, variant):
    cls, over = algorithms[name], cases(name, ("ring",))
    assert too_far(difference(cls, name, over, variant)) == {}
    with_all = literals(RULES[name], cls, name, over, variant)
    for option in variant:  # and each option makes a difference
        rest = {key: value for key, value in variant.items() if key != option}
        apart = np.abs(with_all - literals(RULES[name], cls, name, over, rest, variant)).max(axis=(0, 2, 3))
        assert (apart > 1e-3).all()


@pytest.mark.parametrize("name", REPORTED)
def test_what_is_reported_equals_its_literal_rule(name):
    cls, over = algorithms[name], cases(name, NETWORKS)
    field = cls.declare_for({}).report
    ours = torch.stack([getattr(state, field) for state in simulated(cls, name, over, {}).states]).numpy()
    literal = literals(REPORTED[name], cls, name, over, {})
    assert too_far(differences(ours, literal, over)) == {}
    assert np.abs(literal - literals(RULES[name], cls, name, over, {})).max() > 1e-3  # and is not x


@pytest.mark.parametrize("name", DIRECTED)
def test_equals_the_literal_rule_on_what_points_one_way(name):
    over = cases(name, ONE_WAY)
    pairs = [tuple(w.dense() for w in build_mixing(network, noisy.N).at(0)[1:]) for _, network in over]

    def literal(turned: bool) -> np.ndarray:
        ws = [(push.T, pull.T) if turned else (push, pull) for push, pull in pairs]
        runs = zip(ws, over, strict=True)
        return np.stack([RULES[name](noisy.START, w, noisy.G, kind, T, OPTIONS[name]) for w, (kind, _) in runs], axis=1)

    push, pull = (torch.as_tensor(np.stack(w)) for w in zip(*pairs, strict=True))
    replicas = [{**OPTIONS[name], "schedule": kind} for kind, _ in over]
    x = noisy.start().expand(len(over), -1, -1)
    ours = simulate(algorithms[name], push, noisy.gradient, x, T, replicas, layout=LAYOUT, pull=pull).x().numpy()
    assert too_far(differences(ours, literal(turned=False), over)) == {}
    assert (np.abs(ours - literal(turned=True)).max(axis=(0, 2, 3)) > 1e-3).all()  # Wᵀ would be noticed


@pytest.mark.parametrize("name", RULES)
def test_one_node_equals_the_literal_rule(name):
    w, x, cls = np.ones((1, 1)), noisy.START[:1], algorithms[name]
    options = [{**OPTIONS[name], "coin": coin_of(cls, r)} for r in range(len(KINDS))]
    runs = zip(KINDS, options, strict=True)
    literal = np.stack([RULES[name](x, w, noisy.G_alone, kind, T, o) for kind, o in runs], axis=1)
    replicas = [{**OPTIONS[name], "schedule": kind} for kind in KINDS]
    many = torch.as_tensor(x).expand(len(KINDS), -1, -1)
    ours = simulate(cls, torch.as_tensor(w), noisy.gradient_alone, many, T, replicas, layout=LAYOUT).x()
    assert np.abs(ours.numpy() - literal).max() <= 1e-12 * np.abs(literal).max()


def test_every_method_of_the_suite_has_a_literal_rule():
    assert set(RULES) == {
        module.name for module in pkgutil.iter_modules(package.__path__) if module.name in SYNCHRONOUS
    }


def test_averaging_one_step_late_is_noticed():
    class Late(Schedule):
        def __getitem__(self, t):
            return super().__getitem__(max(t - 1, 0))

    class LateAlpha(algorithms["dnasa"]):
        def __init__(self, layout, schedules, *rest, **others):
            late = {"alpha": Late(schedules["alpha"].values, torch.float64)} if schedules else {}
            super().__init__(layout, {**schedules, **late}, *rest, **others)

    case = ("diminishing", "ring")
    assert difference(LateAlpha, "dnasa", [case], {})[case] > 1e-3
