"""Where asynchronous methods end on quadratics with exact gradients, if one node is four times slower."""

import numpy as np
import pytest

from bench.base.registry import algorithms
from bench.contracts.play import Pace, play
from tests.algorithms.asynchronous.worlds import N, exact_gradient, minimizer, start

SLOW = Pace(slow=4, jitter=0, delay=0.05)


def ends(name, etas, steps, pace=SLOW, options=None):
    """The distances of the mean over nodes from the minimizers of Σ f_i and of Σ r_i f_i, for each stepsize."""
    tape = pace.tape(algorithms[name], steps, options or {})
    speeds = np.bincount(tape.node[tape.kind == 2], minlength=N) / steps
    assert name == "osgp" or speeds[0] < 0.3 * speeds[1:].min()  # nodes of osgp wait for each other
    given = [{"schedule": "constant", "eta": eta, **(options or {})} for eta in etas]
    run = play(algorithms[name], exact_gradient, start(len(etas)), steps, given, pace, keep=False, tape=tape)
    x = run.end.x.numpy().mean(1)
    return tuple(np.linalg.norm(x - minimizer(weights), axis=1) for weights in (np.ones(N), speeds))


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "steps"), [("swift", 400), ("osgp", 900), ("rasgp", 250)])
def test_ends_near_the_minimizer_of_the_sum_whatever_the_speeds(name, steps):
    (large, middle, small), (*_, weighted) = ends(name, (0.08, 0.04, 0.02), steps)
    assert small < 0.65 * middle < 0.65 * 0.65 * large
    assert small < 0.02
    assert name == "osgp" or weighted > 0.1  # osgp waits for the slow node, and has no other speeds


@pytest.mark.parametrize("drop", [pytest.param(0.0, marks=pytest.mark.thorough), 0.25])
def test_asy_sonata_ends_at_the_minimizer_also_if_messages_are_lost(drop):
    (off,), _ = ends("asy_sonata", (0.4,), 450, Pace(slow=4, jitter=0, delay=0.05, drop=drop))
    assert off <= 1e-10


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "steps"), [("adpsgd", 500), ("acid", 500)])
def test_fast_nodes_count_more_if_nodes_average_pairs(name, steps):
    (*_, plain), (large, middle, small) = ends(name, (0.04, 0.02, 0.01), steps)
    assert small < 0.65 * middle < 0.65 * 0.65 * large
    assert small < 0.03
    assert plain > 0.13


@pytest.mark.thorough
def test_equal_weights_of_adpsgd_remove_the_bias_of_compute_times():
    quick = Pace(slow=4, jitter=0, delay=0.001)  # an exchange takes time too, which equal weights do not remove
    (large, middle, small), _ = ends("adpsgd", (0.04, 0.02, 0.01), 700, quick, {"equal_weights": True})
    assert small < 0.65 * middle < 0.65 * 0.65 * large
    assert small < 0.03
