"""The loss at the nodes: written out node by node, for every kind of problem, and as a column of runs."""

import numpy as np
import pytest
import torch

from algorithms.dsgd import State
from bench.base.errors import UserError
from bench.base.randomness import EVERYONE, generator
from bench.base.registry import algorithms, datasets
from bench.build.build import build_problem
from bench.build.material import held_out, load_arrays
from bench.contracts.simulate import simulate
from bench.network.mixing import build_mixing
from bench.problem.problem import Problem, Setting
from bench.training.hosting import OneProcess
from bench.training.metrics import Measurement, measure, metric
from tests.bench.problem.test_supervised import loss_and_gradient
from tests.helpers.configs import config, rows

NODES, SEEDS, CPU = 5, (3, 4, 3), torch.device("cpu")
DRAWN = {
    "quadratics": {"dimension": 6, "noise": 0.1},
    "heavy_tail": {"dimension": 6},
    "synthetic": {"dimension": 6, "evaluation": 40},
    "spike": {"dimension": 6, "evaluation": 40},
    "phase_retrieval": {"dimension": 6, "samples": 30, "evaluation": 40, "noise": 0.1},
    "factorisation": {"rows": 9, "columns": 7, "rank": 2, "observed": 0.6, "noise": 0.1},
    "tokens": {},
}
DIGITS = {"dataset": "digits", "model": "mlp"}


def make(hosted: range = range(NODES), seeds=SEEDS, dtype=torch.float64, **changes) -> Problem:
    return build_problem(config(nodes=NODES, **changes), Setting(NODES, hosted, seeds, 2, dtype, CPU))


def points(f: Problem, size: float = 0.5) -> torch.Tensor:
    draws = generator(0, 0, "points").standard_normal((len(f.setting.seeds), NODES, f.layout.size))
    return size * torch.as_tensor(draws)


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawn_problem_gives_f_at_every_node(name, monkeypatch):
    """Node by node, as the training loss has f; also in a process with some of the nodes, and in small pieces."""
    dataset = {"name": name, **DRAWN[name]}
    f = make(dataset=dataset)
    x = points(f)
    expected = torch.stack([f.evaluate(x[:, node]).train_loss for node in range(NODES)], dim=1)
    found = f.node_losses(x)
    assert found.dtype == torch.float64
    assert torch.allclose(found, expected, rtol=1e-12, atol=0)
    assert len({value.item() for value in found[:2].flatten()}) == 2 * NODES
    monkeypatch.setattr("datasets.known.pieces", lambda device, floats: 2)
    for hosted in (range(3), range(3, 5)):
        some = make(hosted, dataset=dataset).node_losses(x[:, list(hosted)])
        assert torch.allclose(some, expected[:, list(hosted)], rtol=1e-12, atol=0)


def test_quadratics_by_their_definition():
    f = make(seeds=(7,), dataset={"name": "quadratics", "dimension": 3, "condition": 4.0, "spread": 2.0})
    x = points(f)
    a, b = f._a64[0].numpy(), f._b64[0].numpy()
    for node, point in enumerate(x[0].numpy()):
        each = [(point - b[i]) @ a[i] @ (point - b[i]) / 2 for i in range(NODES)]
        assert f.node_losses(x)[0, node].item() == pytest.approx(np.mean(each), rel=1e-12)


@pytest.mark.parametrize("validation", [0.0, 0.1, 0.9])
def test_a_dataset_gives_the_mean_loss_on_the_same_samples_at_every_node(validation):
    """By plain networks, on at most 500 rows: validation rows where there are any."""
    changes = {**DIGITS, "validation": validation, "partition": "dirichlet"}
    arrays, aside = load_arrays(config(**changes)), held_out(config(**changes))
    among = np.arange(len(arrays.train_y)) if aside is None else aside
    few = min(500, len(among))
    taken = among[np.sort(generator(0, EVERYONE, "node loss").choice(len(among), few, replace=False))]
    assert len({*taken.tolist()}) == few == {0.0: 500, 0.1: 144, 0.9: 500}[validation]
    f = make(**changes)
    x = points(f, 0.2)
    found = f.node_losses(x)
    for r in range(len(SEEDS)):
        for node in range(NODES):
            loss, _, _ = loss_and_gradient("mlp", x[r, node], arrays.train_x[taken], arrays.train_y[taken])
            assert found[r, node].item() == pytest.approx(loss.item(), rel=1e-12)


def test_a_process_with_some_nodes_and_small_pieces_change_nothing(monkeypatch):
    f = make(**DIGITS)
    x = points(f, 0.2)
    whole = f.node_losses(x)
    monkeypatch.setattr("bench.problem.supervised.pieces", lambda device, floats: 77)
    parts = [make(hosted, **DIGITS).node_losses(x[:, list(hosted)]) for hosted in (range(3), range(3, 5))]
    assert torch.allclose(torch.cat(parts, dim=1), whole, rtol=1e-12, atol=0)
    single = make(dtype=torch.float32, **DIGITS).node_losses(x)
    assert single.dtype == torch.float64
    assert torch.allclose(single, whole, rtol=1e-5)


@pytest.mark.parametrize("dataset", ["quadratics", "digits"])
def test_regularizer_and_scale_are_those_of_the_training_loss(dataset):
    plain = make(dataset=dataset)
    both = make(dataset=dataset, regularizer={"name": "l2", "alpha": 0.3}, scale=3.0, input_scale=2.0)
    x = points(plain, 0.2)
    expected = 12 * (plain.node_losses(x) + 0.15 * x.square().sum(-1))
    assert torch.allclose(both.node_losses(2 * x), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("name", "graph", "field"),
    [("dsgd", "ring", "x"), ("sgp", "directed_exponential", "x"), ("dda", "ring", "average")],
)
def test_a_run_records_the_mean_at_the_points_that_its_method_reports(name, graph, field):
    """SGP divides by its weights; DDA reports running averages."""
    c = config(algo=name, topology=graph, dataset="quadratics", eval_every=1, steps=12)
    (measured,) = rows(c)
    f = datasets["quadratics"](Setting(6, range(6), (0,), 2, torch.float64, CPU))
    method = algorithms[name]
    assert (method.declare_for({}).report or "x") == field
    trace = simulate(method, torch.as_tensor(build_mixing(graph, 6).matrices[0]), f.grad, f.start(), 12, c.algo.options)
    for row, state in zip(measured, trace.states, strict=True):
        at = getattr(state, field)
        each = [f.evaluate(at[:, node]).train_loss.item() for node in range(6)]
        assert row["node_loss"] == pytest.approx(np.mean(each), rel=1e-10)
    assert row["node_loss"] > row["train_loss"]  # f is convex
    assert measured[0]["node_loss"] == pytest.approx(measured[0]["train_loss"], rel=1e-12)  # one start for all


def measured_at(f: Problem, x: torch.Tensor) -> Measurement:
    return measure(State(x), f, OneProcess(NODES, None), algorithms["dsgd"].declare_for({}))


def test_an_infinite_loss_at_a_node_does_not_end_a_run(monkeypatch):
    """States of runs do not depend on whether they have the column."""
    f = make(dataset="quadratics")
    losses = torch.ones(3, NODES, dtype=torch.float64)
    losses[1, 4], losses[2, 0] = torch.inf, torch.nan
    monkeypatch.setattr(f, "node_losses", lambda x: losses)
    found = measured_at(f, points(f))
    assert found.finite.all()
    assert [found.row(r)["node_loss"] for r in range(3)] == pytest.approx([1.0, np.inf, np.nan], nan_ok=True)


def test_a_problem_may_leave_it_out_and_a_wrong_shape_is_an_error(monkeypatch):
    f = make(seeds=(0,), dataset="quadratics", regularizer={"name": "l2"}, scale=2.0)
    inner = f.problem.problem
    monkeypatch.setattr(inner, "node_losses", lambda x: Problem.node_losses(inner, x))
    found = measured_at(f, points(f))
    assert found.node_loss is None
    assert found.row(0)["node_loss"] is None
    assert found.finite.all()
    monkeypatch.setattr(f, "node_losses", lambda x: x.sum((1, 2)))
    with pytest.raises(UserError, match=r"\(1, 5\).*\(1,\)"):
        measured_at(f, points(f))


def test_a_metric_of_a_plug_in_cannot_take_the_name():
    with pytest.raises(UserError, match="node_loss"):
        metric("node_loss")
