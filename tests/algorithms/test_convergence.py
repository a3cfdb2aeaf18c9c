"""Where the methods end on heterogeneous quadratics with exact gradients."""

from functools import cache

import pytest
import torch

from bench.base.registry import algorithms
from bench.contracts import methods as contract
from bench.contracts.simulate import simulate
from bench.network.mixing import build_mixing
from tests.algorithms.mutants import MeanNorm
from tests.helpers import exact

CONSTANT = {"dsgt": {}, "d2": {}, "dasagt": {"alpha": 0.3}}


@pytest.mark.parametrize("name", CONSTANT)
def test_trackers_reach_the_minimiser(name):
    assert exact.error(algorithms[name], 3000, schedule="constant", eta=0.05, **CONSTANT[name]) <= 1e-8


@pytest.mark.parametrize("name", ["push_diging", "push_pull"])
def test_trackers_reach_the_minimiser_on_what_points_one_way(name):
    _, push, pull = (w and torch.as_tensor(w.dense()) for w in build_mixing("random_digraph", exact.N).at(0))
    f = exact.quadratics()
    options = {"schedule": "constant", "eta": 0.03}
    trace = simulate(algorithms[name], push, f.grad, f.start(), 3000, options, pull=pull, keep=False)
    assert exact.distance(trace.states[-1].x, f) <= 1e-8
    turned = simulate(algorithms[name], push.T, f.grad, f.start(), 3000, options, pull=pull.T, keep=False)
    assert not exact.distance(turned.states[-1].x, f) <= 1e-2  # neither with matrices the wrong way round


def test_dsgd_is_biased_by_heterogeneity_in_proportion_to_its_stepsize():
    etas = (0.004, 0.002, 0.001)
    ends = [exact.error(algorithms["dsgd"], round(8 / eta), schedule="constant", eta=eta) for eta in etas]
    assert ends[-1] > 1e-3
    assert 1.7 < ends[0] / ends[1] < 2.3
    assert 1.7 < ends[1] / ends[2] < 2.3


@cache
def dnasa_error(steps: int, schedule: str, average: str = "tracker") -> float:
    return exact.error(algorithms["dnasa"], steps, schedule=schedule, average=average)


long_runs = pytest.mark.xdist_group("long runs")  # they share what is cached


@long_runs
@pytest.mark.parametrize("steps", [400, pytest.param(2000, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("schedule", ["fixed", "diminishing"])
def test_dnasa_converges(schedule, steps):
    assert dnasa_error(steps, schedule) >= 3 * dnasa_error(10 * steps, schedule)


@pytest.mark.thorough
@long_runs
@pytest.mark.parametrize("schedule", ["fixed", "diminishing"])
def test_an_average_fed_by_the_gradient_is_noticed(schedule):
    assert dnasa_error(20000, schedule, "gradient") >= 8 * dnasa_error(20000, schedule)


def test_normalising_by_the_mean_norm_is_noticed():
    with pytest.raises(contract.BrokenPromise, match="exceeds the bound"):
        contract.bound(MeanNorm)
    with pytest.raises(contract.BrokenPromise, match="another node"):
        contract.locality(MeanNorm)
