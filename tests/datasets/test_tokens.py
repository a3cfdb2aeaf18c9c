"""The regression on tokens: its data and f against the numbers of the paper's code, its noise against its law."""

import numpy as np
import pytest
import torch
from scipy.stats import levy_stable, t

from bench.base.errors import UserError
from bench.base.randomness import generator
from bench.base.registry import datasets
from bench.build.build import build_problem
from bench.problem.problem import Setting
from datasets.tokens import drawn, skewed
from tests.helpers.configs import config


def make(hosted: range = range(20), nodes: int = 20, seeds=(0, 1), **options):
    return datasets["tokens"](Setting(nodes, hosted, seeds, 1, torch.float64, torch.device("cpu")), **options)


def test_data_are_those_of_the_paper():
    tokens, w = drawn()
    assert tokens.shape == (1000, 20)
    assert tokens.sum() == 4389
    assert tokens.sum(0)[:6].tolist() == [897, 906, 502, 488, 102, 86]
    assert w[:3] == pytest.approx([-0.80380318, 0.58599177, 1.30628048], abs=1e-8)
    assert np.linalg.norm(w) == pytest.approx(4.280398977252, abs=1e-12)
    assert (tokens @ w).sum() == pytest.approx(-456.193954825716, abs=1e-10)


def test_f_begins_at_the_value_of_the_paper_and_is_0_at_the_minimizer():
    f = make()
    first, best = f.evaluate(f.start()[:, 0]), f.evaluate(f.minimizer)
    assert first.train_loss.tolist() == pytest.approx([0.868155564144] * 2, abs=1e-12)
    assert first.also["distance"].sqrt().tolist() == pytest.approx([4.280398977252] * 2, abs=1e-12)
    assert best.train_loss.abs().max() < 1e-15
    assert best.gradient.abs().max() < 1e-15


@pytest.mark.parametrize(("changes", "factor"), [({}, 1.0), ({"input_scale": 4.0}, 4.0), ({"scale": 3.0}, 1.0)])
def test_distance_is_that_from_the_scaled_minimizer(changes, factor):
    setting = Setting(20, range(20), (0, 1), 1, torch.float64, torch.device("cpu"))
    f, w = build_problem(config(dataset="tokens", nodes=20, **changes), setting), drawn()[1]
    x = generator(0, 0, "points").normal(0, 2, (2, 20))
    found = f.columns["distance"].finish(f.evaluate(torch.as_tensor(x)).also["distance"].numpy())
    assert found == pytest.approx(np.linalg.norm(x - factor * w, axis=1), rel=1e-12)
    least = f.evaluate(torch.as_tensor(factor * w).expand(2, -1))
    assert least.train_loss.abs().max() < 1e-12
    assert least.also["distance"].max() < 1e-24


def test_gradients_are_those_of_the_biweight_on_the_node_s_samples():
    f, (tokens, w) = make(), drawn()
    x = torch.as_tensor(generator(0, 0, "points").normal(0, 2, (2, 20, 20)), dtype=torch.float64)
    told = f.full(x)
    outside = 0
    for node in (0, 7, 19):
        leaf = x[1, node].clone().requires_grad_()
        total = leaf.new_zeros(())
        for row in tokens[50 * node : 50 * node + 50]:
            r = torch.as_tensor(row) @ leaf - row @ w
            outside += bool(r.detach().abs() > 4.6851)
            total = total + 4.6851**2 / 6 * (1 - (1 - r**2 / 4.6851**2) ** 3 if r.detach().abs() <= 4.6851 else 1.0)
        assert torch.allclose(told[1, node], torch.autograd.grad(total / 50, leaf)[0], rtol=1e-10, atol=1e-12)
    assert outside > 5


def test_shares_of_processes_add_up():
    whole, parts = make(), [make(range(12)), make(range(12, 20))]
    x = torch.as_tensor(generator(0, 0, "points").normal(0, 1, (2, 20, 20)))
    split = torch.cat([p.grad(x[:, list(p.setting.hosted)], 3) for p in parts], dim=1)
    assert torch.allclose(split, whole.grad(x, 3), rtol=1e-12, atol=1e-12)
    total = sum(p.evaluate(x.mean(1)).flat() for p in parts)
    assert torch.allclose(total, whole.evaluate(x.mean(1)).flat(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("noise", ["student", "stable"])
def test_noise_has_the_quantiles_of_its_law(noise):
    f = make(noise=noise)
    x = f.start()
    z = torch.cat([(f.grad(x, s) - f.full(x)).flatten() for s in range(150)]).numpy()
    law = t(1.5) if noise == "student" else levy_stable(1.5, 0.5)
    for part in (0.02, 0.2, 0.5, 0.8, 0.98):
        assert (z <= law.ppf(part)).mean() == pytest.approx(part, abs=0.006)


def test_skewed_noise_has_mean_zero():
    z = skewed(generator(0, 0, "noise"), 1.9, (400_000,))
    assert z.mean() == pytest.approx(0, abs=0.02)


def test_rejects_nodes_that_do_not_divide_the_samples():
    with pytest.raises(UserError, match="nodes=7"):
        make(range(7), nodes=7)
