"""Properties of clipped, normalized and untuned methods that the tables of the other files do not show."""

import numpy as np
import pytest
import torch

from bench.base.registry import algorithms
from bench.contracts.simulate import simulate
from bench.method import Steps
from tests.algorithms.literal.adaptive import accum_adam, dadam_released
from tests.helpers import exact, noisy

EVERYONE = torch.full((20, 20), 1 / 20, dtype=torch.float64)
HALVES = torch.tensor([0.0] * 10 + [10.0] * 10, dtype=torch.float64)[None, :, None]
"""Minimizers of ½ (x − a)² on 20 nodes; that of the mean is 5."""


def final(name, **options):
    x = torch.full((1, 20, 1), 0.5, dtype=torch.float64)
    given = {"schedule": "constant", "eta": 0.5, **options}
    return simulate(algorithms[name], EVERYONE, lambda x, s, stream: x - HALVES, x, 100, given).states[-1].x


def test_normalized_gradients_cancel_and_clipped_ones_need_not():
    assert torch.equal(final("dsgd_n"), torch.full((1, 20, 1), 0.5, dtype=torch.float64))
    assert (final("dsgd_clip", tau=6.0) - 5).abs().max() <= 1e-12


def test_a_tracker_removes_the_bias_of_normalizing():
    assert (final("gt_nsgdm", multiplier=0.05, alpha=1.0) - 5).abs().max() <= 0.1


@pytest.mark.parametrize("kind", ["diminishing", "fixed", "constant"])
def test_accum_adam_without_accumulation_is_the_released_dadam(kind):
    w = np.full((noisy.N, noisy.N), 1 / noisy.N)
    options = {"eta": 0.05, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "accumulate": 1}
    ours, released = (rule(noisy.START, w, noisy.G, kind, 50, options) for rule in (accum_adam, dadam_released))
    assert np.array_equal(ours, released)


def test_dgm_bb_with_a_small_cap_is_gt():
    f, w = exact.quadratics(), torch.as_tensor(exact.ring().matrices[0])
    options = {"schedule": "constant", "eta": 0.01}
    ours = simulate(algorithms["dgm_bb"], w, f.grad, f.start(), 60, options)
    begun = ours.states[1]

    class Continued(algorithms["gt"]):
        def start(self, x, grad, mix):
            return super().start(x, grad, mix)._replace(x=begun.x, y=begun.y, v=begun.v)

    theirs = simulate(Continued, w, f.grad, f.start(), 59, options).x()
    assert (ours.x()[1:] - theirs).abs().max() <= 1e-12
    assert (theirs[-1] - theirs[0]).abs().max() > 1e-2


def test_dda_steps_along_the_sum_of_average_gradients_on_the_complete_graph():
    w, x = (
        torch.full((noisy.N, noisy.N), 1 / noisy.N, dtype=torch.float64),
        noisy.start()[:, :1].expand(-1, noisy.N, -1),
    )
    options = {"schedule": "diminishing", "eta": 0.05}
    points = simulate(algorithms["dda"], w, noisy.gradient, x, 40, options).x()
    total = torch.zeros(1, noisy.D, dtype=torch.float64)
    for t in range(40):
        total = total + noisy.gradient(points[t], t).mean(1)
        assert torch.allclose((points[t + 1] - x).mean(1), -0.05 / (t + 1) ** 0.5 * total, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["autostep_gt", "dgm_bb"])
def test_adaptive_stepsizes_do_not_depend_on_the_scale_of_f(name):
    """Only the first stepsizes have a unit."""
    f, w = exact.quadratics(), torch.as_tensor(exact.ring().matrices[0])
    first = {"autostep_gt": "epsilon", "dgm_bb": "eta"}[name]

    def run(c):
        options = {"schedule": "constant", first: 0.02 / c}
        return simulate(algorithms[name], w, lambda *at: c * f.grad(*at), f.start(), 60, options).x()

    assert torch.equal(run(1.0), run(8.0))


def test_heavy_tail_clipping_with_two_moments_never_clips_small_gradients():
    steps = algorithms["dsgd_clip"].stepsizes
    at = Steps.of("fixed", n=8, T=10_000)
    given = steps(at, eta=1.0, tau=1.0, clipping="heavy_tail")
    assert given["tau"] == pytest.approx(80_000**0.25)
    assert given["eta"] == pytest.approx((8 / 10_000) ** 0.5)
