"""Losses and regularizers against autograd and against their own definitions."""

import numpy as np
import pytest
import torch

from bench.base.errors import UserError
from bench.base.registry import losses, regularizers
from bench.build.network import mixing_of
from bench.problem import Arrays
from bench.problem.losses import Loss
from bench.problem.regularized import Regularized
from bench.problem.scaled import changed
from bench.training.hosting import OneProcess
from bench.training.metrics import measure
from tests.helpers.configs import config, rows

M, B, CLASSES, PLACES = 3, 5, 4, 6


def arrays(kind: str) -> Arrays:
    g = np.random.default_rng(0)
    x = g.standard_normal((20, 2))
    targets = {
        "classes": (g.integers(0, CLASSES, 20), CLASSES),
        "two": (g.integers(0, 2, 20), 2),
        "text": (g.integers(0, CLASSES, (20, PLACES)), CLASSES),
        "number": (g.standard_normal(20), None),
        "numbers": (g.standard_normal((20, 3)), None),
    }
    y, classes = targets[kind]
    return Arrays(x, y, x, y, classes, unit=7.0)


FITS = {
    "cross_entropy": ["classes", "two"],
    "next_token": ["text"],
    "logistic": ["two"],
    "squared": ["number", "numbers"],
}
CASES = [(name, kind) for name, kinds in FITS.items() for kind in kinds]


def sample(name: str, kind: str) -> tuple[Loss, torch.Tensor, torch.Tensor]:
    loss = losses[name](arrays(kind))
    out = torch.randn(M, B, *loss.outputs, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    y = torch.as_tensor(loss.arrays.train_y[: M * B]).unflatten(0, (M, B))
    return loss, out, y


def one_by_one(name: str, out: np.ndarray, y: np.ndarray) -> float:
    """The loss of one sample, as its formula says."""
    if name == "squared":
        return float(np.sum((out - y) ** 2))
    if name == "logistic":
        return float(np.log(1 + np.exp(out[0] if y == 0 else -out[0])))
    if name == "next_token":
        return float(np.mean([one_by_one("cross_entropy", out[t], y[t]) for t in range(len(y))]))
    return float(np.log(np.exp(out).sum()) - out[y])


def test_every_loss_is_tested():
    assert {*FITS, "usual"} == {*losses}


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_loss_is_its_formula_and_its_gradient_that_of_autograd(name, kind):
    loss, out, y = sample(name, kind)
    each = loss.each(out, y)
    assert each.shape == (M, B)
    expected = [[one_by_one(name, out[m, b].numpy(), y[m, b].numpy()) for b in range(B)] for m in range(M)]
    assert np.allclose(each, expected, rtol=1e-12)
    for weight in (0.25, torch.rand(M, B, dtype=torch.float64)):
        written, derived = loss.delta(out, y, weight), Loss.delta(loss, out, y, weight)
        assert torch.allclose(written, derived, rtol=1e-12, atol=1e-15)
        with torch.inference_mode():
            assert torch.equal(loss.delta(out.clone(), y, weight), written)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_scores_are_means_of_what_each_sample_gives(name, kind):
    loss, out, y = sample(name, kind)
    scores = {key: score.finish(score.each(out, y).mean(1).numpy())[0] for key, score in loss.scores().items()}
    first, right = out[0].numpy(), y[0].numpy()
    if "rmse" in scores:
        apart = first - right.reshape(first.shape)
        assert scores["rmse"] == pytest.approx(7.0 * np.sqrt(np.mean(apart**2)), rel=1e-12)
    if "bits" in scores:
        assert scores["bits"] == pytest.approx(loss.each(out, y)[0].mean().item() / np.log(2), rel=1e-12)
    if "accuracy" in scores:
        guess = (first[:, 0] > 0).astype(int) if name == "logistic" else first.argmax(-1)
        assert scores["accuracy"] == pytest.approx(100 * np.mean(guess == right), rel=1e-12)


@pytest.mark.parametrize("kind", ["classes", "two", "text", "number", "numbers"])
def test_the_default_loss_depends_on_the_targets(kind):
    usual = {"classes": "cross_entropy", "two": "cross_entropy", "text": "next_token"}.get(kind, "squared")
    assert type(losses["usual"](arrays(kind))) is losses[usual]
    for name in {*losses} - {"usual"}:
        if kind in FITS[name]:
            losses[name](arrays(kind))
        else:
            with pytest.raises(UserError, match="loss="):
                losses[name](arrays(kind))


@pytest.mark.parametrize("name", sorted({*regularizers} - {"none"}))
def test_a_regularizer_has_its_gradient_or_its_proximal_step(name):
    r = regularizers[name](alpha=0.3)
    x = torch.tensor([[-2.0, -0.1, 0.0, 0.05, 3.0]], dtype=torch.float64).requires_grad_()
    if r.smooth:
        (expected,) = torch.autograd.grad(r.value(x).sum(), x)
        assert torch.allclose(r.gradient(x.detach()), expected, rtol=1e-12)
        return
    eta = torch.tensor([[0.7]], dtype=torch.float64)
    u = r.prox(x.detach(), eta).requires_grad_()
    (slope,) = torch.autograd.grad(r.value(u).sum(), u)  # 0 at 0, one of ∂r there
    pull = (x - u) / eta  # must lie in ∂r(u)
    inside = torch.where(u == 0, pull.abs() <= 0.3 + 1e-12, (pull - slope).abs() < 1e-12)
    assert inside.all()
    assert (u == 0).sum() == 3


VALUES = {
    "l2": lambda x, a: a / 2 * np.sum(x**2),
    "nonconvex": lambda x, a: a * np.sum(x**2 / (1 + x**2)),
    "l1": lambda x, a: a * np.sum(np.abs(x)),
}


@pytest.mark.parametrize("name", sorted(VALUES))
def test_the_value_of_a_regularizer_is_its_formula(name):
    x = np.array([-2.0, 0.5, 0.0])
    assert regularizers[name](alpha=0.3).value(torch.as_tensor(x)).item() == pytest.approx(VALUES[name](x, 0.3))


def made(regularizer: str, hosted: range = range(6), scale: float = 1.0, input_scale: float = 1.0):
    from bench.build.build import build_problem
    from bench.problem.problem import Setting

    some = config(dataset="quadratics", scale=scale, input_scale=input_scale)
    inner = build_problem(config(dataset="quadratics"), Setting(6, hosted, (0,), 2, torch.float64, torch.device("cpu")))
    return changed(Regularized(inner, regularizers[regularizer](alpha=0.2)), some.scale, some.input_scale)


@pytest.mark.parametrize("name", sorted(VALUES))
def test_f_and_its_gradients_include_the_regularizer(name):
    whole, bare = made(name), made(name).problem
    x = torch.randn(1, 6, whole.layout.size, dtype=torch.float64)
    r = regularizers[name](alpha=0.2)
    more = r.gradient(x) if r.smooth else 0
    assert torch.allclose(whole.grad(x, 3), bare.grad(x, 3) + more)
    assert torch.allclose(whole.full(x), bare.full(x) + more)
    mean = x.mean(1)
    e, without = whole.evaluate(mean), bare.evaluate(mean)
    assert torch.allclose(e.train_loss, without.train_loss + r.value(mean))
    assert torch.equal(e.test_loss, without.test_loss)
    assert torch.allclose(e.gradient, without.gradient + (r.gradient(mean) if r.smooth else 0))
    parts = [made(name, hosted).evaluate(mean).flat() for hosted in (range(2), range(2, 6))]
    assert torch.allclose(parts[0] + parts[1], e.flat(), rtol=1e-12)


@pytest.mark.parametrize("name", ["none", "l2", "l1"])
def test_there_is_no_suboptimality_with_a_regularizer(name):
    (measured,) = rows(config(dataset="heavy_tail", algo="deepstorm", regularizer={"name": name}, steps=2))
    assert ("suboptimality" in measured[-1]) == (name == "none")


@pytest.mark.parametrize(("scale", "input_scale"), [(1.0, 1.0), (3.0, 1.0), (1.0, 4.0), (0.5, 2.0)])
def test_a_proximal_step_is_that_of_the_objective_in_its_units(scale, input_scale):
    """u = prox(x, η) is the minimizer of r̃(u) + ‖u − x‖²/(2η) with r̃(u) = c·s²·r(u/s): no neighbor is lower."""
    problem = made("l1", scale=scale, input_scale=input_scale)
    r = lambda u: scale * input_scale**2 * 0.2 * (u / input_scale).abs().sum()  # noqa: E731
    x = torch.tensor([1.7, -0.03, 0.2, -5.0], dtype=torch.float64)
    objective = lambda u: r(u) + (u - x).square().sum() / (2 * 0.6)  # noqa: E731
    u = problem.prox(x, 0.6)
    for i in range(4):
        for step in (-1e-5, 1e-5):
            nearby = u.clone()
            nearby[i] += step
            assert objective(nearby) >= objective(u)


def test_stationarity_of_a_nonsmooth_objective_is_a_unit_proximal_step():
    from typing import NamedTuple

    from bench.base.registry import algorithms
    from bench.training.mixers import make_mixer

    class State(NamedTuple):
        x: torch.Tensor

    problem = made("l1")
    x = torch.randn(1, 6, problem.layout.size, dtype=torch.float64)
    world = OneProcess(6, make_mixer([mixing_of(config())], torch.float64, torch.device("cpu")))
    found = measure(State(x), problem, world, algorithms["dsgd"].properties).row(0)
    mean = x[0].mean(0).numpy()
    v = mean - problem.evaluate(x.mean(1)).gradient[0].numpy()
    u = np.sign(v) * np.maximum(np.abs(v) - 0.2, 0)
    assert found["stationarity"] == pytest.approx(np.sum((mean - u) ** 2), rel=1e-12)


def test_deepstorm_with_an_l1_term_is_its_rule_in_numpy():
    some = config(
        algo="deepstorm", dataset="quadratics", regularizer={"name": "l1", "alpha": 0.4}, steps=15, eval_every=5
    )
    w = mixing_of(some).matrices[0]
    from bench.build.build import build_problem
    from bench.problem.problem import Setting

    f = build_problem(config(dataset="quadratics"), Setting(6, range(6), (0,), 2, torch.float64, torch.device("cpu")))
    grad = lambda x, s: f.grad(torch.as_tensor(x)[None], s)[0].numpy()  # noqa: E731
    prox = lambda x, eta: np.sign(x) * np.maximum(np.abs(x) - 0.4 * eta, 0)  # noqa: E731
    eta = lambda t: 0.1 / (t + 5.0) ** (1 / 3)  # noqa: E731
    x = f.start()[0].numpy()
    d = grad(x, 0)
    y = w @ d
    for t in range(15):
        beta = min(1.0, 1 - eta(t + 1) / eta(t) + 2.0 * eta(t + 1) ** 2)
        new = prox(w @ x - eta(t) * y, eta(t))
        after = grad(new, t + 1) + (1 - beta) * (d - grad(x, t + 1))
        x, y, d = new, w @ (y + after - d), after
    last = rows(some)[0][-1]
    mean = x.mean(0)
    e = f.evaluate(torch.as_tensor(mean)[None])
    assert last["train_loss"] == pytest.approx(e.train_loss.item() + 0.4 * np.abs(mean).sum(), rel=1e-10)
    assert last["stationarity"] == pytest.approx(
        np.sum((mean - prox(mean - e.gradient[0].numpy(), 1.0)) ** 2), rel=1e-9
    )
    assert (x == 0).any()  # the ℓ₁ term makes x sparse


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("number", lambda a: np.argsort(np.argsort(a.train_y, kind="stable")) // 2),
        ("text", lambda a: np.arange(20) // 2),
        ("classes", lambda a: a.train_y),
    ],
)
def test_strata(kind, expected):
    made = arrays(kind)
    assert np.array_equal(made.strata(), expected(made))


def test_a_torch_dataset_becomes_arrays():
    x, y = torch.randn(9, 2), torch.arange(9) % 3
    data = torch.utils.data.TensorDataset(x, y)
    made = Arrays.of_torch(data, torch.utils.data.Subset(data, [1, 4]), classes=3)
    assert np.array_equal(made.train_x, x.numpy())
    assert made.test_y.tolist() == [1, 1]
    with pytest.raises(UserError, match=r"\(input, target\)"):
        Arrays.of_torch([1, 2], data, classes=3)
