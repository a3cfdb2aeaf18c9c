"""What only D-NASA promises."""

import numpy as np
import pytest
import torch

from bench.base.layout import Layout
from bench.base.registry import algorithms
from bench.build.build import build_problem
from bench.contracts.simulate import simulate
from bench.engine import stacked
from bench.method import Steps
from bench.problem.problem import Setting
from tests.algorithms.literal import RULES as OURS
from tests.helpers import noisy
from tests.helpers.configs import Kept, config
from tests.helpers.exact import ring

STEPS = 60


def trajectory(name: str, scale: float, schedule: str, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return simulate(
        algorithms[name],
        torch.as_tensor(ring().matrices[0], dtype=dtype),
        lambda x, s, stream: scale * noisy.gradient(x.double(), s, stream).to(dtype),
        noisy.start().to(dtype),
        STEPS,
        {"schedule": schedule},
    ).x()


@pytest.mark.parametrize("schedule", ["diminishing", "fixed", "constant"])
def test_scale_free_bit_for_bit(schedule):
    assert torch.equal(trajectory("dnasa", 1.0, schedule), trajectory("dnasa", 8.0, schedule))
    assert torch.equal(trajectory("dnasa", 1.0, schedule), trajectory("dnasa", 2.0**-20, schedule))


@pytest.mark.parametrize("exponent", [-80, -20, 3, 80])
def test_scale_free_in_float32_where_squares_would_vanish_or_overflow(exponent):
    one = trajectory("dnasa", 1.0, "diminishing", torch.float32)
    assert torch.equal(one, trajectory("dnasa", 2.0**exponent, "diminishing", torch.float32))


@pytest.mark.parametrize("name", [name for name in OURS if not algorithms[name].properties.scale_free])
def test_who_does_not_say_so_is_not_scale_free(name):
    """Also who is nearly: where gradients are as small as its ε."""
    assert not torch.equal(trajectory(name, 1.0, "diminishing"), trajectory(name, 2.0**-30, "diminishing"))


@pytest.mark.parametrize("name", ["dsgd", "dsgt", "dasagt", "d2", "gt_hsgd", "kgt", "dsgdm"])
def test_with_stepsizes_that_know_no_scale_another_scale_is_another_method(name):
    assert not torch.allclose(trajectory(name, 1.0, "diminishing"), trajectory(name, 8.0, "diminishing"), rtol=1e-3)


def excess(steps: int, normalize: str = "vector", loud: float = 1.0) -> float:
    """Largest consensus − bound, relative to the bound, over all steps from an unequal start."""
    mixing = ring()
    rho, n = mixing.certificate.rho, noisy.N

    class Laid(algorithms["dnasa"]):
        def __init__(self, layout, schedules, *rest):
            super().__init__(layout, schedules, *rest)
            Laid.eta_values = schedules["eta"].values[:, 0]

    pull = torch.linspace(-1, 1, n, dtype=torch.float64)[:, None] * loud
    trace = simulate(
        Laid,
        torch.as_tensor(mixing.matrices[0]),
        lambda x, s, stream: noisy.gradient(x, s % 200, stream) + pull,
        noisy.start() * 1e-3,
        steps,
        {"normalize": normalize},
        layout=Layout({f"part {i}": (1,) for i in range(noisy.D)}),
    )
    spread = [float((s.x - s.x.mean(1, keepdim=True)).square().sum() / n) for s in trace.states]
    b, worst = spread[0] ** 0.5, -1.0
    for t in range(steps):
        b = rho * (b + Laid.eta_values[t])
        worst = max(worst, (spread[t + 1] - b**2) / b**2)
    return worst


@pytest.mark.parametrize("loud", [1.0, 1e4])
def test_sharp_consensus_bound_on_every_step(loud):
    assert excess(150, loud=loud) <= 1e-9


def test_normalizing_per_tensor_breaks_the_bound():
    assert excess(150, "tensor", loud=1e4) > 0.1


NOISY = {"name": "quadratics", "noise": 3.0}


def test_on_all_reduce_it_is_pooled_normalized_sgd_with_momentum_one_step_late():
    """m⁺ = (1−α_t) m + α_t ḡ(x) and x⁺ = x − η_t m/‖m‖ in NumPy: the step uses the average from before the gradient."""
    steps, c = 500, config(nodes=8, steps=500, topology="all_reduce", dataset=NOISY, batch_size=4)
    setting = Setting(8, range(8), (0,), 4, torch.float64, torch.device("cpu"))
    problem = build_problem(c, setting)
    at, seen = Steps.of("diminishing", 8, steps), []

    class Watch(Kept):
        def checkpoint(self, r, moment):
            seen.append(moment.state["x"][0].numpy())

    stacked.run([config(**{**vars(c), **plain(c), "checkpoint_every": 1})], Watch())
    x, m = problem.start()[0, 0].numpy(), 0.0
    worst = largest = 0.0
    for t in range(steps - 1):
        eta, alpha = 8**0.25 / at.h[t] ** 0.75, min(1.0, at.root[t])
        step = eta * m / np.linalg.norm(m) if np.any(m) else 0.0
        everyone = torch.as_tensor(x).expand(1, 8, -1)
        m = (1 - alpha) * m + alpha * problem.grad(everyone, t)[0].mean(0).numpy()
        x = x - step
        worst, largest = max(worst, np.abs(seen[t] - x).max()), max(largest, np.abs(x).max())
    assert worst <= 1e-14 * largest


def plain(c):
    return {name: value for name, value in c.plain().items() if isinstance(value, dict)}
