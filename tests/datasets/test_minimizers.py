"""Distances from the minimizers of Σ f_i and Σ r_i f_i, which quadratics measure on a network."""

import numpy as np
import pytest
import torch

from bench.base.registry import datasets
from bench.build.build import build_problem
from bench.build.material import columns_of
from bench.build.rates import rates_of
from bench.clock.compute import Compute
from bench.problem import Setting
from tests.helpers.configs import config

CPU, NODES, SEEDS = torch.device("cpu"), 5, (3, 4)
RATES = (1.0, 4.0, 4.0, 2.0, 4.0)
NAMES = ["minimizer_distance", "weighted_minimizer_distance"]


def quadratics(hosted=range(NODES), rates=RATES):
    return datasets["quadratics"](Setting(NODES, hosted, SEEDS, 1, torch.float64, CPU, rates), dimension=4)


def minimizer(f, weights) -> np.ndarray:
    """The point at which the weighted sum of the nodes' gradients is 0, from gradients at 0 and at unit vectors."""
    d = f.layout.size
    sums = [
        torch.einsum(
            "n,rnp->rp", torch.tensor(weights, dtype=torch.float64), f.exact(x.expand(len(SEEDS), NODES, d))
        ).numpy()
        for x in (torch.zeros(d).double(), *torch.eye(d).double())
    ]
    slopes = np.stack([one - sums[0] for one in sums[1:]], axis=-1)
    return np.stack([np.linalg.solve(h, -g) for h, g in zip(slopes, sums[0], strict=True)])


def test_distances_are_those_from_literal_minimizers():
    f, x = quadratics(), torch.randn(len(SEEDS), 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = f.evaluate(x).also
    for name, weights in zip(NAMES, ([1.0] * NODES, RATES), strict=True):
        expected = np.linalg.norm(x.numpy() - minimizer(f, weights), axis=1)
        assert f.columns[name].finish(found[name].numpy()) == pytest.approx(expected, rel=1e-10)


def test_processes_share_the_squared_distance():
    x = torch.ones(len(SEEDS), 4, dtype=torch.float64)
    parts = [quadratics(hosted).evaluate(x).also for hosted in (range(2), range(2, NODES))]
    for name, whole in quadratics().evaluate(x).also.items():
        assert torch.allclose(sum(part[name] for part in parts), whole, rtol=1e-12)


def test_equal_rates_have_one_minimizer():
    f = quadratics(rates=(7.0,) * NODES)
    assert torch.allclose(f.minimizer, f.weighted_minimizer, rtol=1e-12)


def test_without_a_network_there_are_no_distances():
    f = quadratics(rates=None)
    assert list(f.evaluate(torch.ones(len(SEEDS), 4)).also) == list(f.columns) == ["suboptimality"]


def lan(**options):
    return config(dataset="quadratics", network={"name": "lan", "slow": 4.0, "slow_node": 1, **options})


def test_rates_come_from_the_network():
    assert rates_of(lan(gradient_ms=5.0)) == pytest.approx((200, 50, *[200] * (lan().nodes - 2)))
    assert rates_of(config(dataset="quadratics")) is None
    assert set(NAMES) <= set(columns_of(lan()))
    assert not set(NAMES) & set(columns_of(config(dataset="quadratics")))


def test_rates_are_one_over_the_mean_time():
    compute = Compute(0.01, lognormal_sigma=0.5, exponential_s=0.002, other_s=0.003, slow_node=0, slow_factor=3)
    factors, extra = compute.draws(0, 2, 1, 200_000)
    times = (compute.base(2) * factors + extra).mean(axis=0) / 1e9
    assert compute.rates(2) == pytest.approx(1 / times, rel=0.01)
    assert Compute(None).rates(2) is None


@pytest.mark.parametrize(("change", "factor"), [({"input_scale": 2.0}, 2.0), ({"scale": 3.0}, 1.0)])
def test_distances_have_the_unit_of_the_parameters(change, factor):
    setting = Setting(6, range(6), (0,), 2, torch.float64, CPU, (1.0,) * 6)
    plain, changed = (build_problem(config(dataset="quadratics", **more), setting) for more in ({}, change))
    x = torch.ones(1, 10, dtype=torch.float64)
    for name in NAMES:
        own, other = f_of(plain, x, name), f_of(changed, factor * x, name)
        assert other == pytest.approx(factor * own)


def f_of(problem, x, name):
    return problem.columns[name].finish(problem.evaluate(x).also[name].numpy())


def test_a_regularizer_removes_distances():
    setting = Setting(6, range(6), (0,), 2, torch.float64, CPU, (1.0,) * 6)
    problem = build_problem(config(dataset="quadratics", regularizer={"name": "l2"}), setting)
    assert not set(NAMES) & {*problem.columns, *problem.evaluate(torch.ones(1, 10, dtype=torch.float64)).also}
