"""The change of an average by rounds alone, with the mixers of runs."""

import numpy as np
import pytest

from bench.network.drawn import build_network
from bench.network.links import Lossy, OneWay
from bench.network.mixing import build_mixing
from bench.training.mixers import change_of_average, start

ROUNDS = 200


def lossy(topology: str, semantics: str) -> list:
    """At three seeds."""
    return [Lossy(p=0.3, semantics=semantics).over(build_mixing(topology, 6), seed) for seed in range(3)]


def test_numbers_begin_with_mean_and_standard_deviation_one():
    x = start(6).numpy()
    assert (x.mean(), x.std()) == pytest.approx((1, 1))


def test_only_reabsorbing_keeps_the_average():
    assert change_of_average(lossy("ring", "reabsorb"), rounds=ROUNDS) < 1e-13
    assert change_of_average(lossy("ring", "renormalise"), rounds=ROUNDS) > 1e-3
    assert change_of_average(lossy("ring", "zero_fill"), rounds=ROUNDS) == pytest.approx(1, abs=1e-6)  # nothing is left
    assert change_of_average([build_network("matching", 6, {})], rounds=ROUNDS) < 1e-13


def test_running_sums_keep_the_push_sum_average():
    whole = build_mixing("random_digraph", 6, seed=0)
    assert change_of_average([OneWay(p=0.3).over(whole, seed) for seed in range(3)], "push", ROUNDS) < 1e-11
    assert change_of_average(lossy("random_digraph", "zero_fill"), "push", ROUNDS) > 1e-2


def test_matches_products_of_matrices():
    """By hand, for one seed."""
    (network,) = lossy("ring", "renormalise")[:1]
    x = start(6).numpy()
    for t in range(20):
        x = network.at(t, t).mix.dense() @ x
    assert change_of_average([network], rounds=20) == pytest.approx(abs(np.mean(x) - 1), rel=1e-10)
