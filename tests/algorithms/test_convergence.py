"""How far D-SGD and D-NASA come on heterogeneous quadratics with exact gradients; where all methods end is in
test_exactness.py."""

from functools import cache

import pytest
import torch

from bench.base.registry import algorithms
from bench.contracts import methods as contract
from tests.algorithms.fixed_points import Bias
from tests.algorithms.mutants import MeanNorm
from tests.helpers import exact


def test_the_bias_of_dsgd_is_in_proportion_to_its_stepsize():
    f, w = exact.quadratics(), exact.ring().matrices[0]
    points = [Bias(f).adapt_then_combine(w, eta) for eta in (0.004, 0.002, 0.001)]  # where it stops: test_exactness.py
    ends = [exact.distance(torch.as_tensor(point), f) for point in points]
    assert ends[-1] > 1e-3
    assert 1.7 < ends[0] / ends[1] < 2.3
    assert 1.7 < ends[1] / ends[2] < 2.3


@cache
def dnasa_error(steps: int, schedule: str, average: str = "tracker") -> float:
    return exact.error(algorithms["dnasa"], steps, schedule=schedule, average=average)


long_runs = pytest.mark.xdist_group("long runs")  # they share what is cached


@long_runs
@pytest.mark.parametrize("steps", [400, pytest.param(1000, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("schedule", ["fixed", "diminishing"])
def test_dnasa_converges(schedule, steps):
    assert dnasa_error(steps, schedule) >= 3 * dnasa_error(10 * steps, schedule)


@pytest.mark.thorough
@long_runs
@pytest.mark.parametrize("schedule", ["fixed", "diminishing"])
def test_an_average_fed_by_the_gradient_is_noticed(schedule):
    assert dnasa_error(10000, schedule, "gradient") >= 8 * dnasa_error(10000, schedule)


def test_normalizing_by_the_mean_norm_is_noticed():
    with pytest.raises(contract.CheckFailed, match="bound"):
        contract.bound(MeanNorm)
    with pytest.raises(contract.CheckFailed, match="another node"):
        contract.locality(MeanNorm)
