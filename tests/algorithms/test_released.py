"""Mistakes of released code: each is noticed by what it does."""

import numpy as np
import pytest
import torch

from bench.base.registry import algorithms
from bench.contracts import methods as contract
from bench.contracts.simulate import simulate
from bench.network.mixing import build_mixing
from tests.algorithms import mutants
from tests.helpers import exact

F = exact.quadratics()
STEPS = 600


def end(cls, **options) -> torch.Tensor:
    w = torch.as_tensor(exact.ring().matrices[0])
    return simulate(cls, w, F.grad, F.start(), STEPS, {"schedule": "constant", **options}, keep=False).states[-1].x


TRACKERS = [
    ("motef", mutants.MoTEFReleased, "mean v − mean m", {"eta": 0.03, "gamma": 0.8, "weight": 0.5}),
    ("detag", mutants.DeTAGStart, "mean y − mean g", {"eta": 0.1, "rounds": 2}),
]


@pytest.mark.parametrize(("name", "cls", "lost", "options"), TRACKERS, ids=[row[0] for row in TRACKERS])
def test_a_first_gradient_that_stays_in_the_tracker_is_noticed(name, cls, lost, options):
    """It stops where the gradient is −∇f(x⁰): as far from the minimizer as it began, on the other side."""
    with pytest.raises(contract.CheckFailed, match=lost):
        contract.states(cls)
    assert exact.distance(end(algorithms[name], **options), F) <= 1e-8
    there = end(cls, **options) - (2 * F.minimizer.unsqueeze(1) - F.start())
    assert there.norm(dim=-1).max() <= 1e-8
    assert exact.distance(F.start(), F) > 1


def test_a_dual_of_new_and_old_values_is_noticed():
    """Its mean is β (x̄ − x⁰): it stops where η ∇f(x) = −κ β (x − x⁰), held back by where it began."""
    options = {"eta": 0.2, "pull": 0.3, "gamma": 0.9, "beta": 0.8}
    with pytest.raises(contract.CheckFailed, match="dual "):
        contract.states(mutants.FSPDAReleased)
    assert exact.distance(end(algorithms["fspda"], **options), F) <= 1e-8
    x = end(mutants.FSPDAReleased, **options)
    assert exact.distance(x, F) > 1
    assert (0.2 * F.full(x).mean(1) + 0.3 * 0.8 * (x - F.start()).mean(1)).norm(dim=-1).max() <= 1e-8


def kept(cls, rounds: int) -> float:
    """The most of a disagreement that is left after one step without a gradient, on the ring."""
    w, n = torch.as_tensor(build_mixing("ring", 8).matrices[0]), 8
    x = (torch.eye(n, dtype=torch.float64) - 1 / n)[None]
    trace = simulate(cls, w, lambda x, s, stream: torch.zeros_like(x), x, 1, {"rounds": rounds})
    return float(torch.linalg.matrix_norm(trace.states[-1].x[0], 2))


@pytest.mark.parametrize("name", ["mg_dsgd", "detag", "dnsgd"])
@pytest.mark.parametrize("rounds", [1, 2, 4, 8])
def test_who_accelerates_keeps_as_much_of_a_disagreement_as_the_network_says(name, rounds):
    assert kept(algorithms[name], rounds) == pytest.approx(build_mixing("ring", 8).accelerated(rounds), rel=1e-9)


def test_a_buffer_that_is_overwritten_slows_gossip():
    def rate(cls):
        return (kept(cls, 40) / kept(cls, 20)) ** (1 / 20)

    assert rate(mutants.DeTAGBuffer) == pytest.approx(0.728, abs=5e-4)
    assert rate(algorithms["detag"]) == pytest.approx(0.505, rel=0.04)  # times a polynomial in R
    contract.states(mutants.DeTAGBuffer)  # the mean is kept, and it is still exact: only slower
    assert exact.distance(end(mutants.DeTAGBuffer, eta=0.1, rounds=2), F) <= 1e-8


RECURSIVE = {"gt_hsgd": "v", "storm": "v", "docom": "v", "adamdos": "u", "deepstorm": "d"}


def weights(cls, field: str, beta: float, steps: int = 8) -> np.ndarray:
    """What the samples 0 and 3 count in the estimate after 0, 1, … steps, by a gradient that is there on them alone."""
    given = {"a0": 0.1, "b0": beta / 0.01} if "a0" in cls.stepsize_options() else {"beta": beta}
    w, x = torch.full((4, 4), 0.25, dtype=torch.float64), torch.zeros(2, 4, 1, dtype=torch.float64)

    def impulse(x, s, stream):
        return torch.tensor([float(s == 0), float(s == 3)], dtype=x.dtype)[:, None, None].expand_as(x)

    trace = simulate(cls, w, impulse, x, steps, {"schedule": "constant", **given})
    return torch.stack([getattr(state, field)[:, 0, 0] for state in trace.states]).numpy()


def expected(beta: float, steps: int = 8) -> np.ndarray:
    t = np.arange(steps + 1)
    return np.stack([(1 - beta) ** t, np.where(t >= 3, beta * (1 - beta) ** np.maximum(t - 3, 0), 0)], axis=1)


@pytest.mark.parametrize("beta", [0.03, 0.3, 1.0])
@pytest.mark.parametrize("name", RECURSIVE)
def test_a_recursive_estimate_takes_in_samples_by_beta(name, beta):
    assert weights(algorithms[name], RECURSIVE[name], beta) == pytest.approx(expected(beta), abs=1e-12)


def test_a_beta_that_is_never_used_is_noticed():
    assert weights(mutants.GTHSGDDead, "v", 0.3) == pytest.approx(expected(0.3), abs=1e-12)
    assert np.abs(weights(mutants.GTHSGDDead, "v", 0.03) - expected(0.03)).max() > 0.2
    assert exact.distance(end(mutants.GTHSGDDead, eta=0.06), F) <= 1e-8  # where gradients have no noise, β is of no use
