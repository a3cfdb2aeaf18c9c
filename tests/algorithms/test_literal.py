"""Every method of the suite equals its rule as printed."""

import pkgutil

import numpy as np
import pytest
import torch

import algorithms as package
from bench.base.registry import algorithms
from bench.contracts.simulate import simulate
from bench.method.schedules import Schedule
from bench.network.mixing import build_mixing
from tests.algorithms.literal import LAYOUT, OPTIONS, RULES, VARIANTS
from tests.helpers import noisy

T = 50
KINDS = ("diminishing", "fixed", "constant")


def difference(cls, name: str, kind: str, topology: str, variant: dict | None = None) -> float:
    """Largest relative difference between the suite and the literal rule over all steps."""
    w = build_mixing(topology, noisy.N, lazy=(name == "d2")).matrices[0]
    options = {**OPTIONS[name], **(variant or {})}
    literal = np.stack(RULES[name](noisy.START, w, noisy.G, kind, T, options))
    options["schedule"] = kind
    trace = simulate(cls, torch.as_tensor(w), noisy.gradient, noisy.start(), T, options, layout=LAYOUT)
    ours = trace.x()[:, 0].numpy()
    assert np.abs(literal[-1] - literal[0]).max() > 1e-2  # something happened
    return float((np.abs(ours - literal) / np.abs(literal).max(axis=(1, 2), keepdims=True)).max())


@pytest.mark.parametrize("topology", ["ring", "random", "ladder", "complete"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RULES)
def test_equals_the_literal_rule(name, kind, topology):
    assert difference(algorithms[name], name, kind, topology) <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_variants_as_released_equal_their_literal_rules(name, variant, kind):
    assert difference(algorithms[name], name, kind, "ring", variant) <= 1e-12
    for option in variant:  # and each option makes a difference
        rest = {key: value for key, value in variant.items() if key != option}
        assert difference_between(name, kind, variant, rest) > 1e-3


def difference_between(name: str, kind: str, one: dict, other: dict) -> float:
    w = build_mixing("ring", noisy.N).matrices[0]
    x = [RULES[name](noisy.START, w, noisy.G, kind, T, {**OPTIONS[name], **options})[-1] for options in (one, other)]
    return float(np.abs(x[0] - x[1]).max())


@pytest.mark.parametrize("topology", ["directed_ring", "directed_exponential", "random_digraph"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["sgp", "push_diging", "push_pull"])
def test_equals_the_literal_rule_on_what_points_one_way(name, kind, topology):
    _, push, pull = (w and w.dense() for w in build_mixing(topology, noisy.N).at(0))
    literal = np.stack(RULES[name](noisy.START, (push, pull), noisy.G, kind, T, OPTIONS[name]))
    options = {**OPTIONS[name], "schedule": kind}
    w, other = torch.as_tensor(push), torch.as_tensor(pull)
    trace = simulate(algorithms[name], w, noisy.gradient, noisy.start(), T, options, layout=LAYOUT, pull=other)
    ours = trace.x()[:, 0].numpy()
    assert np.abs(ours - literal).max() <= 1e-12 * np.abs(literal).max()
    turned = np.stack(RULES[name](noisy.START, (push.T, pull.T), noisy.G, kind, T, OPTIONS[name]))
    assert np.abs(ours - turned).max() > 1e-3  # Wᵀ would be noticed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RULES)
def test_one_node_equals_the_literal_rule(name, kind):
    w, x = np.ones((1, 1)), noisy.START[:1]
    literal = RULES[name](x, w, noisy.G_alone, kind, T, OPTIONS[name])
    options = {**OPTIONS[name], "schedule": kind}
    gradient = noisy.gradient_alone
    ours = simulate(algorithms[name], torch.as_tensor(w), gradient, torch.as_tensor(x)[None], T, options).x()[:, 0]
    assert np.stack(literal) == pytest.approx(ours.numpy(), rel=1e-12, abs=1e-12)


def test_every_method_of_the_suite_has_a_literal_rule():
    assert set(RULES) == {module.name for module in pkgutil.iter_modules(package.__path__)}


def test_averaging_one_step_late_is_noticed():
    class Late(Schedule):
        def __getitem__(self, t):
            return super().__getitem__(max(t - 1, 0))

    class LateAlpha(algorithms["dnasa"]):
        def __init__(self, layout, schedules, *rest):
            late = {**schedules, "alpha": Late(schedules["alpha"].values, torch.float64)}
            super().__init__(layout, late, *rest)

    assert difference(LateAlpha, "dnasa", "diminishing", "ring") > 1e-3
