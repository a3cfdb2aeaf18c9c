"""What a plug-in gives is held against the run's sizes before anything is computed with it."""

from dataclasses import replace
from types import MappingProxyType

import networkx as nx
import numpy as np
import pytest
import torch

from bench.base.errors import UserError
from bench.base.randomness import generator
from bench.base.registry import datasets, metrics, models, partitions, topologies
from bench.build.build import build_problem
from bench.build.material import describe_data
from bench.config.choices import options_of
from bench.config.run_config import parse
from bench.models.dense import Perceptron
from bench.network.graphs import Topology
from bench.network.mixing import build_mixing
from bench.problem.arrays import Arrays, sound
from bench.problem.problem import Column, Problem, Setting, vector_layout
from bench.store.kinds import EVALUATIONS
from bench.sweep.preflight import MOST, check, check_data
from bench.training.metrics import metric
from tests.helpers.configs import BASE, config, rows

G = np.random.default_rng(0)
GOOD = Arrays(
    G.standard_normal((60, 3)).astype(np.float32),
    np.arange(60) % 2,
    G.standard_normal((10, 3)).astype(np.float32),
    np.arange(10) % 2,
    classes=2,
)
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _names_are_new():
    """Several tests call their own part 'mine': what is known of one is forgotten before the next."""
    options_of.cache_clear()
    yield
    options_of.cache_clear()


def spoilt(part: str, place: int, value: float) -> np.ndarray:
    array = getattr(GOOD, part).copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"test_y": GOOD.test_y[:7]}, "test_x has 10 rows, test_y has 7"),
        ({"train_x": GOOD.train_x[:50]}, "train_x has 50 rows, train_y has 60"),
        ({"train_x": spoilt("train_x", 17, np.nan)}, "train_x .*nan .*row 17"),
        ({"test_x": spoilt("test_x", 3, np.inf)}, "test_x has inf in row 3"),
        ({"train_y": spoilt("train_y", 5, 2)}, "train_y .* 2 .*row 5.* classes=2"),
        ({"test_y": spoilt("test_y", 5, -1)}, "test_y .* -1 .*row 5"),
        ({"train_y": GOOD.train_y + 0.5}, "train_y .*float64"),
        ({"test_x": GOOD.test_x[:, :2]}, r"a training input .*\(3,\).*\(2,\)"),
        ({"train_x": GOOD.train_x[:0], "train_y": GOOD.train_y[:0]}, r"train_x .*\(0, 3\)"),
        ({"train_x": GOOD.train_x.astype(str)}, "train_x .*<U"),
        ({"sd": 0.0}, ".*sd .*0.0"),
        ({"classes": 0}, "classes .*0"),
    ],
)
def test_arrays_that_are_no_dataset_get_a_sentence(changes, sentence):
    assert sound("mine", GOOD) is GOOD
    with pytest.raises(UserError, match=f"^dataset=mine: {sentence}"):
        sound("mine", replace(GOOD, **changes))


def wrong(*args, **options):
    raise FileNotFoundError(2, "No such file", "mine.csv")


def test_a_dataset_that_raises_gets_a_sentence(monkeypatch):
    monkeypatch.setitem(datasets._items, "mine", wrong)
    with pytest.raises(UserError, match=r"^dataset=mine .*FileNotFoundError: .*mine.csv"):
        check(config(dataset="mine"))


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        (lambda nodes: nx.cycle_graph(13), ".*graph for 13 nodes, but nodes=6"),
        (lambda nodes: np.full((4, 4), 0.25), ".*matrix for 4 nodes, but nodes=6"),
        (lambda nodes: [nx.cycle_graph(6), nx.cycle_graph(5)], ".*graph for 5 nodes, but nodes=6"),
        (lambda nodes: [], ".*empty list"),
        (lambda nodes: [(0, 1)], r".*\(0, 1\)"),
        (lambda nodes: nx.no_such_graph(nodes), ".*nodes=6: AttributeError"),
    ],
)
def test_a_graph_of_another_size_gets_a_sentence(graph, sentence, monkeypatch):
    monkeypatch.setitem(topologies._items, "mine", Topology(graph, "metropolis"))
    with pytest.raises(UserError, match=f"^topology=mine {sentence}"):
        build_mixing("mine", 6)


class Narrow(Perceptron):
    """Forgets a class."""

    def __init__(self, inputs, classes):
        super().__init__(inputs, classes - 1)


class Short(Perceptron):
    def initial(self, g):
        return super().initial(g)[1:]


class Careless(Perceptron):
    def initial(self, g):
        return np.random.default_rng().standard_normal(self.layout.size)


class Flat(Perceptron):
    def __init__(self, inputs, classes):
        super().__init__(inputs[:1], classes)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (Narrow, r".*\(2, 9\).* loss=usual .*dataset=digits .*\(2, 10\)"),
        (Short, ".* 4809 .* 4810"),
        (Careless, ".*generator"),
        (Flat, r".*\(8, 8\).*\(10,\): RuntimeError"),
    ],
)
def test_a_model_of_another_size_gets_a_sentence(model, sentence, monkeypatch):
    monkeypatch.setitem(models._items, "mine", model)
    with pytest.raises(UserError, match=f"^model=mine:? {sentence}"):
        check(config(dataset="digits", model="mine"))


@pytest.mark.parametrize(
    ("split", "sentence"),
    [
        (lambda labels, nodes, g: np.array_split(np.arange(len(labels)), nodes - 1), ".* 5 shards .* 6 nodes"),
        (
            lambda labels, nodes, g: [np.arange(len(labels))] * nodes,
            ".* 0 … 1437",
        ),
        (
            lambda labels, nodes, g: np.array_split(np.arange(len(labels) // 2), nodes),
            ".* 0 … 1437",
        ),
        (
            lambda labels, nodes, g: np.array_split(np.random.permutation(len(labels)), nodes),
            ".*other shards each time",
        ),
        (
            lambda labels, nodes, g: np.array_split(np.arange(len(labels)) - 1, nodes),
            "cannot divide 1438 samples",
        ),
    ],
)
def test_a_partition_that_divides_wrongly_gets_a_sentence(split, sentence, monkeypatch):
    monkeypatch.setitem(partitions._items, "mine", split)
    with pytest.raises(UserError, match=f"^partition=mine {sentence}"):
        check(config(dataset="digits", partition="mine"))


class Broadcast(Problem):
    """Returns one gradient for all nodes, which would be broadcast over them."""

    def __init__(self, setting):
        super().__init__(setting)
        self.layout = vector_layout(3)

    def start(self):
        return torch.zeros(len(self.setting.seeds), len(self.setting.hosted), 3, dtype=self.setting.dtype)

    def grad(self, x, s, stream=0):
        return x.mean(1, keepdim=True)

    def evaluate(self, mean):
        raise AssertionError


class Elsewhere(Broadcast):
    def start(self):
        return super().start()[:, 1:]


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (Broadcast, r"gradient .*\(1, 6, 3\).*\(1, 1, 3\)"),
        (Elsewhere, r"start .*\(1, 6, 3\).*\(1, 5, 3\)"),
    ],
)
def test_a_problem_of_another_size_gets_a_sentence(problem, sentence, monkeypatch):
    monkeypatch.setitem(datasets._items, "mine", problem)
    with pytest.raises(UserError, match=sentence):
        rows(config(algo="dsgt", dataset="mine"))


def part(eval_samples: int | None, hosted: range = range(6)):
    c = config(dataset="digits", model="mlp", partition="dirichlet", eval_samples=eval_samples)
    return build_problem(c, Setting(6, hosted, (0, 1), 2, torch.float64, CPU))


def test_f_is_measured_on_a_fixed_part_of_every_shard():
    whole, some = part(None), part(10)
    point = whole.start()[:, 0]
    everything = part(10**6).evaluate(point)
    assert torch.equal(everything.train_loss, whole.evaluate(point).train_loss)
    assert torch.equal(everything.gradient, whole.evaluate(point).gradient)
    measured = some.evaluate(point)
    for r, seed in enumerate((0, 1)):
        losses = []
        for node, shard in enumerate(whole._shards[r]):
            kept = shard[generator(seed, node, "evaluation").permutation(len(shard))[:10]]
            logits = whole._model.forward(whole._model.unpack(point[r : r + 1]), whole._inputs(whole._x[kept])[None])[0]
            losses.append(torch.nn.functional.cross_entropy(logits, whole._y[kept]).item())
        assert measured.train_loss[r].item() == pytest.approx(np.mean(losses), rel=1e-12)
    gradients = torch.stack(list(some.node_gradients(point)))
    assert torch.allclose(gradients.mean(0), measured.gradient, rtol=1e-12, atol=1e-14)
    halves = [part(10, range(3)).evaluate(point), part(10, range(3, 6)).evaluate(point)]
    assert torch.allclose(halves[0].gradient + halves[1].gradient, measured.gradient, rtol=1e-12, atol=1e-14)


def test_a_run_is_not_evaluated_on_the_part_of_another_seed(monkeypatch):
    c = config(dataset="digits", model="mlp", partition="dirichlet", eval_samples=10)
    problem = build_problem(c, Setting(6, range(6), (0, 1, 0), 2, torch.float64, CPU))
    point = problem.start()[:, 0] * torch.tensor([[1.0], [2.0], [3.0]])
    together = problem.evaluate(point)
    for r, seed in enumerate((0, 1, 0)):
        single = build_problem(c, Setting(6, range(6), (seed,), 2, torch.float64, CPU)).evaluate(point[r : r + 1])
        assert torch.allclose(together.flat()[r], single.flat()[0], rtol=1e-12, atol=1e-14)
    seen, linearize = [], problem._model.linearize
    counted = lambda x, inputs: (seen.append(len(x) * inputs.shape[1]), linearize(x, inputs))[1]  # noqa: E731
    monkeypatch.setattr(problem._model, "linearize", counted)
    problem.evaluate(point)
    assert sum(seen) == 3 * sum(min(10, len(shard)) for shard in problem._shards[0])


def test_a_part_changes_what_is_measured_and_not_what_is_done():
    full, some = config(dataset="digits", model="mlp"), config(dataset="digits", model="mlp", eval_samples=20)
    for a, b in zip(*rows(full), *rows(some), strict=True):
        assert (a["test_loss"], a["consensus"]) == (b["test_loss"], b["consensus"])
        assert a["train_loss"] != b["train_loss"]
    assert describe_data(some)["evaluated"] == [20] * 6
    assert "evaluated" not in describe_data(full)


def test_a_setting_that_came_later_leaves_earlier_runs_their_names():
    assert "eval_samples" not in BASE  # as in the config.yaml of a run made before it was there
    before = parse(BASE)
    assert before.eval_samples is None
    assert before.run_id == config(eval_samples=None).run_id == "dnasa-ring-synthetic-s0-987db1b4"
    assert config(eval_samples=5).run_id != before.run_id
    assert parse(before.plain()) == before


@pytest.mark.parametrize(
    ("schedule", "nodes", "noted"), [("constant", 77, True), ("fixed", 78, False), ("constant", BASE["nodes"], False)]
)
def test_reports_that_schedule_nodes_has_no_effect(schedule, nodes, noted, capsys):
    check(config(algo={"name": "dsgd", "schedule": schedule}, schedule_nodes=nodes))
    assert (f"schedule_nodes={nodes}" in capsys.readouterr().err) == noted


@pytest.mark.parametrize(
    ("algo", "noted"),
    [
        ({"name": "dasagt", "schedule": "fixed", "alpha": 0.1}, True),
        ({"name": "dasagt", "schedule": "constant", "alpha": 0.1}, False),
        ({"name": "gt_nsgdm", "schedule": "fixed", "p": 1.5}, False),
        ({"name": "gt_nsgdm", "schedule": "constant", "p": 1.5}, True),
    ],
)
def test_an_option_that_the_schedule_does_not_use_is_named_once(algo, noted, capsys, monkeypatch):
    monkeypatch.setattr("bench.sweep.preflight._passed", set())
    for _ in range(2):
        check(config(algo=algo))
    option = [*algo][-1]
    assert capsys.readouterr().err.count(f"algo.{option}={algo[option]} ") == noted


def test_limits_the_number_of_evaluations():
    with pytest.raises(UserError, match=r"eval_every=1\b.* eval_every=3\b"):
        check(config(steps=2 * EVALUATIONS, eval_every=1))
    check(config(steps=2 * EVALUATIONS, eval_every=3))


@pytest.mark.parametrize(
    ("dataset", "nodes", "value"),
    [("tokens", 6, "nodes=6"), ({"name": "factorisation", "observed": 0.001}, 4, "dataset.observed=0.001")],
)
def test_rejects_options_of_a_drawn_problem_before_any_run(dataset, nodes, value):
    with pytest.raises(UserError, match=value):
        check(config(dataset=dataset, nodes=nodes))
    check(config(dataset="tokens", nodes=5))


@pytest.mark.parametrize("name", ["excess", "train_loss", "eta", "two words", "virtual_s"])
def test_a_column_with_a_name_that_is_taken_is_rejected(name, monkeypatch):
    class Mine(datasets["quadratics"]):
        columns = MappingProxyType({name: Column("mine", False)})

    monkeypatch.setitem(datasets._items, "mine", Mine)
    with pytest.raises(UserError, match=f"'{name}'"):
        check_data(config(dataset="mine"))
    with pytest.raises(UserError, match=f"'{name}'"):
        metric(name)


def test_limits_the_number_of_metrics(monkeypatch):
    monkeypatch.setattr(metrics, "_items", {})
    for number in range(MOST):
        metric(f"mine_{number}")(lambda view: view.train_loss)
    with pytest.raises(UserError, match=rf"more.* {MOST}\b"):
        check_data(config())


def test_a_metric_with_the_name_of_an_option_of_the_method_is_rejected(monkeypatch):
    monkeypatch.setattr(metrics, "_items", {})
    metric("gamma")(lambda view: view.train_loss)
    check_data(config(algo="dsgd", dataset="quadratics"))
    with pytest.raises(UserError, match=r"'gamma'.*fspda"):
        check_data(config(algo="fspda", dataset="quadratics", dtype="float64"))
