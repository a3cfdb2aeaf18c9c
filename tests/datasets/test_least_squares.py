"""The closed forms against what they stand for."""

import pytest
import torch

from bench.base.randomness import generator
from bench.base.registry import datasets
from bench.problem.problem import Problem, Setting
from datasets.quadratics import Quadratics


def make(name: str, nodes: int = 4, hosted: range | None = None, seeds=(3,), batch_size: int = 1, **options) -> Problem:
    setting = Setting(nodes, hosted or range(nodes), tuple(seeds), batch_size, torch.float64, torch.device("cpu"))
    return datasets[name](setting, **options)


@pytest.mark.parametrize("name", ["synthetic", "spike"])
def test_population_loss_and_gradient_are_the_limits_of_the_samples(name):
    f = make(name, nodes=2, dimension=6, batch_size=400)
    x = torch.randn(1, 2, 6, dtype=torch.float64)
    x[:, 1] = x[:, 0]
    sampled = torch.stack([f.grad(x, s) for s in range(200)]).mean(0).mean(1)
    e = f.evaluate(x.mean(1))
    assert torch.allclose(sampled, e.gradient, rtol=0.03, atol=0.05 * e.gradient.abs().max().item())
    point = x.mean(1).clone().requires_grad_()
    (derivative,) = torch.autograd.grad(f.evaluate(point).train_loss.sum(), point)
    assert torch.allclose(derivative, e.gradient)


def test_spike_has_the_variance_it_says():
    f = make("spike", nodes=1, dimension=4, batch_size=1000)
    e = torch.eye(4, dtype=torch.float64)
    curvature = [
        float((f.evaluate(e[i : i + 1]).gradient - f.evaluate(0 * e[i : i + 1]).gradient)[0, i]) for i in range(4)
    ]
    assert curvature == pytest.approx([200, 2, 2, 2])


def test_test_loss_is_the_mean_over_the_evaluation_samples():
    f = make("synthetic", nodes=3, dimension=5, evaluation=50)
    x = torch.randn(1, 5, dtype=torch.float64)
    theta = f._target[0].numpy()
    total = 0.0
    for node in range(3):
        draws = generator(3, node, "evaluation").standard_normal((50, 6))
        y = draws[:, :5] @ theta + 0.1 * draws[:, 5]
        total += ((y - draws[:, :5] @ x[0].numpy()) ** 2).mean() / 3
    assert f.evaluate(x).test_loss.item() == pytest.approx(total, rel=1e-12)


def test_the_stream_has_the_noise_it_says():
    """At θ* a gradient is −2 ε X: its mean square is 4 noise² Σ sd² / B."""
    f = make("spike", nodes=1, dimension=3, batch_size=2, noise=0.5)
    squares = [f.grad(f._target[:, None], s).square().sum().item() for s in range(8000)]
    assert sum(squares) / 8000 == pytest.approx(4 * 0.25 * (100 + 1 + 1) / 2, rel=0.08)


def test_the_true_parameter_is_standard_normal_and_the_start_is_zero():
    f = make("synthetic", seeds=(3, 4))
    for r, seed in enumerate((3, 4)):
        assert f._target[r].tolist() == generator(seed, -1, "theta").standard_normal(100).tolist()
    assert f.start().shape == (2, 4, 100)
    assert f.start().abs().max() == 0


def test_at_the_true_parameter_only_the_noise_is_left():
    f = make("synthetic")
    e = f.evaluate(f._target)
    assert e.train_loss.item() == pytest.approx(0.01)
    assert e.gradient.abs().max().item() == 0
    assert e.test_loss.item() == pytest.approx(0.01, rel=0.05)


@pytest.mark.parametrize("name", ["synthetic", "spike", "quadratics"])
def test_shares_of_processes_add_up_and_samples_do_not_depend_on_who_hosts(name):
    noise = {"noise": 0.3}
    whole = make(name, seeds=(1, 2, 1), **noise)
    parts = [make(name, hosted=hosted, seeds=(1, 2, 1), **noise) for hosted in (range(3), range(3, 4))]
    x = torch.randn(3, 4, whole.layout.size, dtype=torch.float64)
    for s, stream in ((0, 0), (70, 0), (5, 1)):
        split = [p.grad(x[:, list(p.setting.hosted)], s, stream) for p in parts]
        assert torch.allclose(torch.cat(split, dim=1), whole.grad(x, s, stream), rtol=1e-13, atol=1e-13)
    total = sum(p.evaluate(x.mean(1)).flat() for p in parts)
    assert torch.allclose(total, whole.evaluate(x.mean(1)).flat(), rtol=1e-12)


def test_samples_depend_on_sample_number_stream_seed_and_node():
    f = make("synthetic", seeds=(1, 2))
    x = torch.ones(2, 4, 100, dtype=torch.float64)
    draws = [f.grad(x, 0), f.grad(x, 1), f.grad(x, 64), f.grad(x, 0, stream=1)]
    rows = torch.cat(draws).flatten(0, 1)
    assert len({tuple(row.tolist()) for row in rows}) == 4 * 2 * 4
    assert torch.equal(f.grad(x, 0), draws[0])


def test_replicas_with_one_seed_are_one_problem():
    f, alone = make("synthetic", seeds=(5, 6, 5)), make("synthetic", seeds=(5,))
    x = torch.randn(1, 4, 100, dtype=torch.float64)
    g = f.grad(x.expand(3, -1, -1), 9)
    assert torch.equal(g[0], g[2])
    assert torch.allclose(g[0], alone.grad(x, 9)[0], rtol=1e-13)
    assert not torch.allclose(g[0], g[1])


def test_the_minimizer_of_the_quadratics_is_one():
    f = make("quadratics", seeds=(1, 2))
    assert isinstance(f, Quadratics)
    assert f.evaluate(f.minimizer).gradient.abs().max().item() < 1e-12
    assert f.grad(f.minimizer[:, None].expand(-1, 4, -1), 0).abs().max().item() > 0.1  # no node is at rest there
    point = torch.randn(2, 10, dtype=torch.float64, requires_grad=True)
    e = f.evaluate(point)
    (derivative,) = torch.autograd.grad(e.train_loss.sum(), point)
    assert torch.allclose(derivative, e.gradient)
    assert torch.allclose(f.grad(point.detach()[:, None].expand(-1, 4, -1), 0).mean(1), e.gradient)


def test_noise_of_the_quadratics_is_averaged_over_the_batch():
    f, exact = make("quadratics", noise=0.6, batch_size=4), make("quadratics")
    x = torch.zeros(1, 4, 10, dtype=torch.float64)
    noise = torch.stack([f.grad(x, s) - exact.grad(x, s) for s in range(400)])
    assert noise.std().item() == pytest.approx(0.3, rel=0.05)


def test_exact_gradients_are_those_that_are_evaluated():
    problem = make("synthetic", nodes=6, seeds=(0, 1), dimension=10, evaluation=50, exact=True)
    x = torch.randn(2, 6, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = problem.grad(x, 3)
    assert torch.equal(found, problem.full(x))
    for node in range(6):
        assert torch.allclose(found[:, node], problem.evaluate(x[:, node]).gradient, rtol=1e-13)
