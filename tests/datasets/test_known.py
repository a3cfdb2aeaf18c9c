"""Drawn problems with a known optimum: the written-out gradients against f, the noise against its law."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import levy_stable

import analysis
from bench.base.errors import UserError
from bench.base.randomness import generator
from bench.base.registry import datasets
from bench.build.build import build_problem
from bench.problem.problem import Problem, Setting
from datasets.heavy_tail import stable
from tests.helpers.cli import refused, typed
from tests.helpers.configs import config, rows

NODES = 4
KNOWN = {
    "heavy_tail": {"dimension": 6},
    "phase_retrieval": {"dimension": 6, "samples": 30, "evaluation": 40},
    "factorisation": {"rows": 9, "columns": 7, "rank": 2, "observed": 0.6},
}
CPU = torch.device("cpu")


def make(
    name: str, hosted: range = range(NODES), seeds=(3,), batch_size: int = 2, dtype=torch.float64, **more
) -> Problem:
    return datasets[name](Setting(NODES, hosted, tuple(seeds), batch_size, dtype, CPU), **{**KNOWN[name], **more})


def points(f: Problem, *shape: int) -> torch.Tensor:
    return torch.as_tensor(generator(0, 0, "points").standard_normal((*shape, f.layout.size)))


def written_out(name: str, f: Problem, r: int, node: int, x: torch.Tensor) -> torch.Tensor:
    """f_i as its definition has it, from what was drawn for it."""
    s = f.setting.distinct_seeds.index(f.setting.seeds[r])
    if name == "heavy_tail":
        sigma = torch.as_tensor([10 ** (j / 5) for j in range(6)], dtype=torch.float64)
        seed = f.setting.seeds[r]
        shared, own = (
            generator(seed, -1, "theta").standard_normal(6),
            generator(seed, node, "centre").standard_normal(6),
        )
        apart = x - torch.as_tensor(shared + own)
        return apart @ torch.diag(sigma) @ apart / 2
    if name == "phase_retrieval":
        total = x.new_zeros(())
        draws = generator(f.setting.seeds[r], node, "samples").standard_normal((30, 7))
        for a in torch.as_tensor(draws[:, :6]):
            total = total + ((a @ x) ** 2 - (a @ f.minimizer[r]) ** 2) ** 2 / 4
        return total / 30
    u, v = x[: 9 * 2].view(9, 2), x[9 * 2 :].view(7, 2)
    best_u, best_v = f.minimizer[r, : 9 * 2].view(9, 2), f.minimizer[r, 9 * 2 :].view(7, 2)
    places = f._places[s, node]
    total = x.new_zeros(())
    for place in places.tolist():
        row, column = divmod(place, 7)
        total = total + (u[row] @ v[column] - best_u[row] @ best_v[column]) ** 2 / 2
    return total / len(places)


@pytest.mark.parametrize("name", KNOWN)
def test_gradients_are_those_of_f_as_it_is_defined(name):
    seeds = (3, 5, 3)
    f = make(name, seeds=seeds)
    x = points(f, len(seeds))
    evaluation, told = f.evaluate(x), torch.stack(list(f.node_gradients(x)), dim=1)
    assert torch.allclose(f.full(x.unsqueeze(1).expand(-1, NODES, -1)), told, rtol=1e-12, atol=1e-13)
    for r in range(len(seeds)):
        values, gradients = [], []
        for node in range(NODES):
            leaf = x[r].clone().requires_grad_()
            values.append(written_out(name, f, r, node, leaf))
            gradients.append(torch.autograd.grad(values[-1], leaf)[0])
        assert torch.allclose(told[r], torch.stack(gradients), rtol=1e-10, atol=1e-12)
        assert evaluation.train_loss[r].item() == pytest.approx(sum(values).item() / NODES, rel=1e-12)
        assert torch.allclose(evaluation.gradient[r], sum(gradients) / NODES, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", KNOWN)
def test_suboptimality_and_gradient_vanish_at_the_minimizer(name):
    f = make(name, seeds=(3, 5))
    best = f.evaluate(f.minimizer)
    assert best.gradient.abs().max().item() < 1e-12
    assert best.also["suboptimality"].abs().max().item() < 1e-15
    least = f.least if name == "heavy_tail" else torch.zeros(2, dtype=torch.float64)
    assert torch.allclose(best.train_loss, least, rtol=1e-12, atol=1e-15)
    assert list(best.also) == list(f.columns) == ["suboptimality"]
    near = f.evaluate(f.minimizer + 0.01 * points(f, 2))
    assert (near.also["suboptimality"] > 1e-6).all()
    assert torch.allclose(near.also["suboptimality"], near.train_loss - least, rtol=1e-9, atol=1e-14)
    if name == "phase_retrieval":
        assert f.evaluate(-f.minimizer).train_loss.abs().max().item() < 1e-15


@pytest.mark.parametrize("name", KNOWN)
def test_shares_of_processes_add_up_and_samples_do_not_depend_on_the_host(name):
    seeds = (1, 2, 1)
    whole, parts = make(name, seeds=seeds), [make(name, hosted, seeds) for hosted in (range(3), range(3, 4))]
    assert torch.equal(torch.cat([p.start() for p in parts], dim=1), whole.start())
    x = points(whole, 3, NODES)
    for s, stream in ((0, 0), (70, 0), (5, 1)):
        split = [p.grad(x[:, list(p.setting.hosted)], s, stream) for p in parts]
        assert torch.allclose(torch.cat(split, dim=1), whole.grad(x, s, stream), rtol=1e-12, atol=1e-12)
    total = sum(p.evaluate(x.mean(1)).flat() for p in parts)
    assert torch.allclose(total, whole.evaluate(x.mean(1)).flat(), rtol=1e-12, atol=1e-13)
    draws = torch.cat([whole.grad(x[:1, :1].expand(3, NODES, -1), s, stream) for s, stream in ((0, 0), (1, 0), (0, 1))])
    assert len({tuple(row.tolist()) for row in draws.flatten(0, 1)}) == 3 * 2 * NODES  # of two seeds


@pytest.mark.parametrize("name", ["phase_retrieval", "factorisation"])
def test_mini_batches_are_means_of_single_samples_and_those_of_f(name):
    """Over 640 batches of 50 the mean is ∇f_i within five of its standard errors."""
    f = make(name, batch_size=50)
    x = points(f, 1, NODES)
    draws = torch.stack([f.grad(x, s) for s in range(640)])
    error = draws.std(0) / math.sqrt(640)
    assert ((draws.mean(0) - f.full(x)).abs() <= 5 * error + 1e-12).all()
    single = make(name, batch_size=1)
    spread = torch.stack([single.grad(x, s) for s in range(640)]).var(0).sum()
    assert (spread / draws.var(0).sum()).item() == pytest.approx(50, rel=0.3)


@pytest.mark.parametrize("tail", [1.2, 1.5, 2.0])
def test_noise_is_stable_with_the_index_it_says(tail):
    """By its characteristic function, and by quantiles of scipy's."""
    z = stable(generator(0, 0, "noise"), tail, (200000,))
    for t in (0.1, 0.5, 1.0, 2.0):
        assert np.cos(t * z).mean() == pytest.approx(math.exp(-(t**tail)), abs=0.006)
        assert np.sin(t * z).mean() == pytest.approx(0, abs=0.006)
    for part in (0.75, 0.95, 0.99):
        quantile = levy_stable.ppf(part, tail, 0)
        assert (z > quantile).mean() == pytest.approx(1 - part, rel=0.1)
    if tail == 2:
        assert z.var() == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("batch", [1, 16])
def test_the_mean_of_a_batch_of_stable_noise_is_stable(batch):
    f = make("heavy_tail", batch_size=batch, noise=0.5, tail=1.5)
    x = points(f, 1, NODES)
    z = torch.cat([(f.grad(x, s) - f.full(x)).flatten() for s in range(2000)]).numpy()
    means = 0.5 * stable(generator(0, 0, "each"), 1.5, (len(z), batch)).mean(1)
    scale = 0.5 * batch ** (1 / 1.5 - 1)
    for t in (0.5, 1.0, 2.0):
        expected = math.exp(-((scale * t) ** 1.5))
        assert np.cos(t * z).mean() == pytest.approx(expected, abs=0.015)
        assert np.cos(t * means).mean() == pytest.approx(expected, abs=0.015)


def test_entries_are_divided_by_rows_or_at_random_and_none_is_at_two_nodes():
    for divided in ("rows", "entries"):
        f = make("factorisation", divided=divided)
        places = f._places[0]
        assert len(set(places.ravel().tolist())) == places.size == NODES * (int(0.6 * 63) // NODES)
        met = [len(set((part // 7).tolist())) for part in places]
        assert (max(met) <= 4) == (divided == "rows")


@pytest.mark.parametrize(
    ("name", "eta", "steps", "left"),
    [("heavy_tail", 0.02, 600, 0.05), ("phase_retrieval", 0.02, 1500, 1e-6), ("factorisation", 1.0, 1500, 1e-6)],
)
def test_small_steps_come_near_the_optimum(name, eta, steps, left):
    easy = {"heavy_tail": {"noise": 0.1, "tail": 1.8, "spread": 0.2}, "factorisation": {"observed": 0.9}}
    options = {**KNOWN[name], **easy.get(name, {})}
    algo = {"name": "dsgd", "schedule": "constant", "eta": eta}
    one = config(dataset={"name": name, **options}, algo=algo, steps=steps, eval_every=steps, topology="complete")
    (measured,) = rows(one)
    assert measured[-1]["suboptimality"] < left * measured[0]["suboptimality"]
    assert measured[-1]["suboptimality"] >= 0


def test_suboptimality_is_in_the_units_of_f():
    plain = config(dataset="heavy_tail")
    changed = config(dataset="heavy_tail", scale=3.0, input_scale=2.0)
    f, g = (build_problem(c, Setting(6, range(6), (0,), 2, torch.float64, CPU)) for c in (plain, changed))
    x = points(f, 1)
    assert torch.allclose(g.evaluate(2 * x).also["suboptimality"], 12 * f.evaluate(x).also["suboptimality"])


def test_rejects_invalid_options(tmp_path):
    with pytest.raises(UserError, match=" 4 nodes"):
        make("factorisation", observed=0.01)
    refused("dataset=heavy_tail dataset.tail=2.5", "at most 2; got 2.5.", tmp_path)
    refused("dataset=heavy_tail dataset.tail=1", "more than 1; got 1.", tmp_path)


def test_from_the_command_line(tmp_path):
    words = ["algo=dsgd", "algo.eta=0.01", "nodes=4", "steps=20", "eval_every=10", "engine=stacked", "tracker=none"]
    done = typed("-m", f"dataset={','.join(KNOWN)}", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = analysis.load(tmp_path / "results")
    assert set(found.dataset) == set(KNOWN)
    assert found.suboptimality.notna().all()
    assert (found.suboptimality <= found.train_loss).all()


def test_suboptimality_of_quadratics():
    """The nodes' parts sum to f(x) − f*, without cancellation close to the minimizer."""
    setting = [
        Setting(NODES, hosted, (3, 5), 1, torch.float64, CPU) for hosted in (range(NODES), range(1), range(1, NODES))
    ]
    whole, one, rest = (datasets["quadratics"](each, noise=0.3) for each in setting)
    assert list(whole.columns) == ["suboptimality"]
    x = points(whole, 2)
    expected = whole.evaluate(x).train_loss - whole.evaluate(whole.minimizer).train_loss
    assert torch.allclose(whole.evaluate(x).also["suboptimality"], expected, rtol=1e-12)
    assert torch.allclose(sum(part.evaluate(x).also["suboptimality"] for part in (one, rest)), expected, rtol=1e-12)
    near = whole.evaluate(whole.minimizer + 1e-9 * x).also["suboptimality"]
    far = whole.evaluate(whole.minimizer + x).also["suboptimality"]
    assert torch.allclose(near, 1e-18 * far, rtol=1e-6)
