"""The oracles ``grad`` and ``mix``, the coin, and the properties of W that a method may read."""

import pytest
import torch

from algorithms.dsgd import State
from bench.base.registry import algorithms
from bench.build.build import build_problem
from bench.build.network import properties_of
from bench.contracts.simulate import simulate
from bench.method.trajectory import assemble
from bench.network.mixing import build_mixing
from bench.problem.problem import Setting
from bench.training.costs import CostCounter, Stopwatch
from bench.training.hosting import OneProcess
from bench.training.mixers import make_mixer
from bench.training.network import Network, make_oracles
from tests.helpers.configs import config

CPU, R, N = torch.device("cpu"), 3, 4


def oracles(**changes):
    c = config(nodes=N, **changes)
    problem = build_problem(c, Setting(N, range(N), tuple(range(R)), 2, torch.float64, CPU))
    mixings = [build_mixing("star", N)] * R
    hosting, costs = OneProcess(N, make_mixer(mixings, torch.float64, CPU)), CostCounter(problem, mixings)
    network = Network(hosting, properties_of(c), costs, Stopwatch(R), range(R))
    grad, mix = make_oracles(problem, network, costs)
    return problem, grad, mix, torch.as_tensor(mixings[0].matrices[0])


@pytest.mark.parametrize("talks", [(True, False, True), (False, False, False), (True, True, True)])
def test_replicas_that_do_not_communicate_keep_their_tensors(talks):
    _, _, mix, w = oracles(dataset="quadratics")
    x, y = torch.randn(R, N, 5, dtype=torch.float64), torch.randn(R, N, 1, dtype=torch.float64)
    for before, after in zip((x, y), mix(x, y, when=torch.tensor(talks)[:, None, None]), strict=True):
        for r, talked in enumerate(talks):
            assert torch.allclose(after[r], w @ before[r] if talked else before[r], rtol=0, atol=1e-15)


UNEVEN = {"dataset": "digits", "partition": {"name": "dirichlet", "alpha": 1.0}}


@pytest.mark.parametrize("changes", [UNEVEN, {**UNEVEN, "scale": 3.0}, {"dataset": "quadratics", "scale": 0.5}])
def test_full_gradients_average_to_that_of_f_and_are_local(changes):
    problem, grad, _, _ = oracles(**changes)
    x = problem.start() + 0.1 * torch.randn(R, 1, problem.layout.size, dtype=torch.float64)
    full = grad.full(x)
    assert torch.allclose(full.mean(1), problem.evaluate(x[:, 0]).gradient, atol=1e-10)
    moved = x.clone()
    moved[:, 2] *= 2.0  # adding one number to all would shift all logits alike
    changed = (grad.full(moved) - full).abs().amax((0, 2)) > 1e-9
    assert changed.tolist() == [False, False, True, False]


def test_coin_has_its_probability_and_depends_on_the_seed_only():
    layout = build_problem(config(), Setting(6, range(6), (0,), 2, torch.float64, CPU)).layout
    options = [config(algo="dsgd").algo.options] * R
    one, other = (
        assemble(algorithms["dsgd"], layout, options, n=6, T=5, dtype=torch.float64, seeds=seeds)
        for seeds in ((0, 1, 2), (2, 1, 0))
    )
    flips = torch.stack([one.coin(t, 0.3) for t in range(1000)])
    assert flips.shape == (1000, R, 1, 1)
    assert flips.double().mean(0).flatten().tolist() == pytest.approx([0.3] * R, abs=0.058)  # 4 standard deviations
    again = torch.stack([other.coin(t, 0.3) for t in range(1000)])
    assert torch.equal(flips, again.flip(1))  # of the seed, not of the place


@pytest.mark.parametrize("name", ["ring", "star", "complete"])
def test_simulate_passes_the_spectrum_of_the_certificate(name):
    class Asks(algorithms["dsgd"]):
        def start(self, x, grad, mix):
            type(self).known = self.rho.item(), self.lambda_n.item()
            return State(x)

        @classmethod
        def declare(cls, **options):
            return algorithms["d2"].properties  # one that needs the topology

    mixing = build_mixing(name, 6)
    start = torch.zeros(1, 6, 2, dtype=torch.float64)
    simulate(Asks, torch.as_tensor(mixing.matrices[0]), lambda x, s, stream: x, start, 0)
    certificate = mixing.certificate
    assert Asks.known == pytest.approx((certificate.rho, certificate.lambda_n), abs=1e-12)
