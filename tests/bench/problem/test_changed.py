"""Rescaled objectives, validation splits, equal shards, and schedule_nodes."""

import numpy as np
import pytest
import torch

from bench.base.registry import partitions
from bench.build.build import build_algorithm, build_problem
from bench.build.material import describe_data, held_out, load_arrays, shards
from bench.method.schedules import Steps
from bench.problem.problem import Setting
from tests.helpers.configs import config, rows

CPU = torch.device("cpu")
DIGITS = {"dataset": "digits", "model": "mlp"}


def test_gradient_steps_are_invariant_to_input_scale_and_unit_steps_are_not():
    """x = c y: η ∇(c² f(x/c)) = c η ∇f(y), bit for bit where c is a power of two; a unit step is not c units long."""
    for algo, same in (("dsgd", True), ("dsgt", True), ("dnasa", False)):
        plain, other = rows(config(algo=algo)), rows(config(algo=algo, input_scale=2.0**4))
        for a, b in zip(plain[0][1:], other[0][1:], strict=True):
            assert (b["train_loss"] / 2.0**8 == a["train_loss"]) == same
            assert (b["consensus"] / 2.0**8 == a["consensus"]) == same
            assert (b["grad_norm"] / 2.0**4 == a["grad_norm"]) == same


def test_rescaled_gradients_are_the_derivative_of_the_rescaled_loss():
    c = config(dataset="quadratics", input_scale=3.0, dtype="float64")
    problem = build_problem(c, Setting(6, range(6), (0,), 2, torch.float64, CPU))
    x, h = torch.linspace(-1, 1, 10, dtype=torch.float64)[None], 1e-2
    slopes = [
        (problem.evaluate(x + h * e).train_loss - problem.evaluate(x - h * e).train_loss).item() / (2 * h)
        for e in torch.eye(10, dtype=torch.float64)
    ]
    found = problem.evaluate(x).gradient[0]
    assert torch.allclose(found, torch.tensor(slopes, dtype=torch.float64), rtol=1e-8)
    here = x.expand(6, -1)[None]
    assert torch.allclose(problem.grad(here, 0).mean(1)[0], found, rtol=1e-12)
    assert torch.allclose(problem.full(here).mean(1)[0], found, rtol=1e-12)
    assert torch.allclose(torch.stack(list(problem.node_gradients(x))).mean(0)[0], found, rtol=1e-12)


def test_validation_rows_are_on_no_node_and_the_same_for_every_seed():
    some = config(**DIGITS, validation=0.1, partition="dirichlet")
    aside, count = held_out(some), len(load_arrays(some).train_y)
    assert len(aside) == round(0.1 * count) == describe_data(some)["validation"]
    for seed in (0, 1):
        held = np.concatenate(shards(some, seed))
        assert sorted([*held, *aside]) == list(range(count))
    assert held_out(config(**DIGITS)) is None
    assert describe_data(config(**DIGITS)).get("validation") is None


def test_validation_metrics_are_those_of_the_validation_rows():
    some = config(**DIGITS, validation=0.2)
    make = lambda hosted: build_problem(some, Setting(6, hosted, (0, 1), 2, torch.float64, CPU))  # noqa: E731
    whole, aside = make(range(6)), held_out(some)
    point = whole.start()[:, 0]
    arrays = load_arrays(some)
    inputs = whole._inputs(torch.as_tensor(arrays.train_x[aside])).expand(2, -1, -1, -1)
    logits, labels = whole._model.forward(whole._model.unpack(point), inputs), torch.as_tensor(arrays.train_y[aside])
    found = whole.evaluate(point).also
    for r in range(2):
        loss = torch.nn.functional.cross_entropy(logits[r], labels.long())
        assert found["val_loss"][r].item() == pytest.approx(loss.item(), rel=1e-12)
        right = (logits[r].argmax(-1) == labels).double().mean().item()
        assert found["val_accuracy"][r].item() == pytest.approx(right, rel=1e-12)
    parts = [make(hosted).evaluate(point).also for hosted in (range(2), range(2, 6))]
    for name, value in found.items():
        assert torch.allclose(parts[0][name] + parts[1][name], value, rtol=1e-12)


def test_validation_columns_exist_only_with_a_validation_split():
    (with_it,), (without,) = rows(config(**DIGITS, validation=0.1)), rows(config(**DIGITS))
    assert list(with_it[0])[-2:] == ["val_loss", "val_accuracy"]
    assert not {"val_loss", "val_accuracy"} & set(without[0])
    assert with_it[-1]["epoch"] > without[-1]["epoch"]  # as many samples drawn, of fewer


@pytest.mark.parametrize(("alpha", "nodes"), [(0.01, 7), (0.3, 32), (100.0, 5)])
def test_equal_shards_have_one_size_and_f_is_that_of_all_the_data(alpha, nodes):
    g = np.random.default_rng(3)
    labels = g.choice(4, size=3000, p=[0.6, 0.3, 0.08, 0.02])
    split = partitions["dirichlet"](labels, nodes, np.random.default_rng(0), alpha=alpha, equal=True)
    sizes = [len(part) for part in split]
    assert max(sizes) - min(sizes) <= 1
    assert sorted(np.concatenate(split)) == list(range(3000))
    priors = np.stack([np.bincount(labels[part], minlength=4) / len(part) for part in split])
    assert np.allclose(priors.mean(axis=0), np.bincount(labels) / 3000, atol=1 / min(sizes))
    skew = np.abs(priors - priors.mean(axis=0)).sum(axis=1).mean() / 2
    assert skew > 0.3 if alpha < 1 else skew < 0.1


def test_schedule_nodes_overrides_n_in_the_stepsizes():
    few = config(schedule_nodes=2)
    problem = build_problem(few, Setting(6, range(6), (0,), 2, torch.float64, CPU))
    eta = build_algorithm([few], problem).eta.values[:, 0]
    at = Steps.of("diminishing", 2, few.steps)
    assert np.array_equal(eta, 2**0.25 / at.h**0.75)
    assert build_algorithm([config()], problem).eta.values[1, 0] == 6**0.25


def test_default_settings_do_not_change_run_ids():
    before = config()
    assert (before.input_scale, before.validation, before.schedule_nodes) == (1.0, 0.0, None)
    others = [config(input_scale=2.0), config(validation=0.1), config(schedule_nodes=3)]
    assert len({before.run_id, *(other.run_id for other in others)}) == 4
