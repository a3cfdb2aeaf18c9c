"""Plug-ins of all kinds must give the same numbers in every engine and in resumed runs."""

import itertools
import random
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
import torch

from algorithms.dsgd import DSGD
from bench.base.errors import UserError
from bench.base.registry import (
    compressors,
    links,
)
from bench.build import probe, rehearsal
from bench.build.network import _mixing
from bench.config.choices import options_of
from bench.engine.engines import engine_of
from bench.method import algorithm
from bench.method.schedules import schedule
from bench.network.compressor import Compressor
from bench.network.compressors import from_bytes, to_bytes
from bench.network.failures import Coins
from bench.network.faulty import LossyNetwork
from bench.network.graphs import topology
from bench.network.links import LinkModel
from bench.network.weights import weights
from bench.problem import Arrays, dataset
from bench.problem.regularized import Regularizer, regularizer
from bench.sweep import preflight
from bench.training.metrics import metric
from bench.training.observer import Snapshot
from tests.helpers.configs import Kept, config
from tests.helpers.trial_plugins import isolate

calls = itertools.count()
own = np.random.default_rng(0)
DRAWS = {
    "keyed": lambda: 0.5,
    "torch": lambda: float(torch.rand(())),
    "numpy": lambda: np.random.uniform(),
    "python": random.random,
    "own": lambda: own.random(),
    "system": lambda: np.random.default_rng().random(),
    "counter": lambda: next(calls) / 1000,
}
how = "keyed"


def drawn() -> float:
    """A number in [0, 1), from where the test says."""
    return DRAWS[how]()


@pytest.fixture(autouse=True)
def _plugins(monkeypatch):
    """One plug-in of every kind. All of them call ``drawn``."""
    isolate(monkeypatch)

    @algorithm("mine", vectors_per_step=1, cite="nobody")
    class Mine(DSGD):
        begins: int = 0

        def step(self, s, t, grad, mix):
            s = super().step(s, t, grad, mix)
            return s._replace(x=s.x * (1 + drawn() / 100)) if t >= self.begins else s

    @compressors.register("mine")
    class Shrunk(Compressor):
        def delta(self, size):
            return 0.5

        def pack(self, v, draws):
            return to_bytes(v * (0.5 + drawn() / 2))

        def unpack(self, payload, size, dtype, draws):
            return from_bytes(payload, dtype)

    @links.register("mine")
    class Lossy(LinkModel):
        def over(self, network, seed):
            return LossyNetwork(network, Coins(0.3, int(1e6 * drawn())), "reabsorb", 0.3)

    @regularizer("mine")
    @dataclass(frozen=True)
    class Square(Regularizer):
        def value(self, x):
            return drawn() * x.square().sum(-1)

        def gradient(self, x):
            return 2 * drawn() * x

    @schedule("mine")
    def mine(t, T, n):
        return np.full(len(t), 1 + drawn()), np.full(len(t), 1 + drawn())

    @topology("mine", weights="metropolis")
    def graph(nodes: int):
        return nx.cycle_graph(sorted(range(nodes), key=lambda node: drawn()))

    @weights("mine")
    def quarter(arcs):
        return np.full(len(arcs.source), 0.2 + drawn() / 10)

    @dataset("mine")
    def blobs(seeded: bool = True):
        if seeded:
            np.random.seed(0)
        x = np.random.standard_normal((80, 3))
        return Arrays(x[:60], np.arange(60) % 2, x[60:], np.arange(20) % 2, classes=2)

    clear()
    yield
    clear()


def clear():
    _mixing.cache_clear()
    options_of.cache_clear()


def noted(view):
    return view.x.sum(-1) * drawn()


RUNS = {
    "compressor=mine": {"algo": "choco", "compressor": "mine"},
    "links=mine": {"links": "mine"},
    "regularizer=mine": {"algo": "dsgd", "regularizer": {"name": "mine"}},
    "algo.schedule=mine": {"algo": {"name": "dsgd", "schedule": "mine"}},
    "topology=mine": {"topology": "mine"},
    "topology.weights=mine": {"topology": {"name": "ring", "weights": "mine"}},
    "metric=mine": {},
}


def chosen(name):
    if name == "metric=mine":
        metric("mine")(noted)
    return config(**RUNS[name], nodes=10)


UNKEYED = [where for where in DRAWS if where != "keyed"]
REJECTED = [(name, where) for name in RUNS for where in (UNKEYED if name != "topology=mine" else UNKEYED[:3])]
"""The order of numbers is that of a counter, so the graph is the same each time."""


@pytest.mark.parametrize(("name", "where"), REJECTED)
def test_preflight_rejects_draws_without_a_key(name, where, monkeypatch):
    run = chosen(name)
    monkeypatch.setitem(globals(), "how", where)
    with pytest.raises(UserError, match=rf"^{name} "):
        preflight.check(run)


@pytest.mark.parametrize("name", RUNS)
def test_preflight_accepts_plugins_that_depend_on_their_arguments_only(name):
    preflight.check(chosen(name))


@pytest.mark.parametrize("where", UNKEYED)
def test_a_run_of_a_method_fails_before_its_first_row(where, monkeypatch):
    run, kept = config(algo="mine", nodes=4), Kept()
    monkeypatch.setitem(globals(), "how", where)
    preflight.check(run)  # the process of the command does not call steps of a plug-in, which may hang
    with pytest.raises(UserError, match=r"^algo=mine .*self\.coin"):
        engine_of(run).compute([run], kept, None, None)
    assert kept.rows == [[]]


@pytest.mark.parametrize("where", UNKEYED[:3])
def test_a_run_fails_at_the_first_evaluation_after_a_later_draw(where, monkeypatch):
    run, kept = config(algo={"name": "mine", "begins": 15}, nodes=4, steps=40, eval_every=10), Kept()
    monkeypatch.setitem(globals(), "how", where)
    with pytest.raises(UserError, match=r"^algo=mine "):
        engine_of(run).compute([run], kept, None, None)
    assert [row["step"] for row in kept.rows[0]] == [0, 10]


def test_rejects_a_metric_that_changes_the_problem_in_place():
    @metric("mine")
    def distance(view):
        return torch.linalg.vector_norm(view.problem.minimizer.sub_(view.x), dim=-1)

    with pytest.raises(UserError, match=r"^metric=mine "):
        preflight.check(config(algo="dsgd", dataset={"name": "quadratics"}))


def test_a_dataset_function_may_seed_a_global_generator_and_use_it():
    preflight.check(config(dataset="mine", nodes=4))
    with pytest.raises(UserError, match=r"^dataset=mine .*default_rng"):
        preflight.check(config(dataset={"name": "mine", "seeded": False}, nodes=4))


def test_a_graph_may_seed_a_global_generator_and_use_it(monkeypatch):
    monkeypatch.setitem(DRAWS, "keyed", lambda: np.random.seed(0) or np.random.uniform())
    preflight.check(chosen("topology=mine"))


def test_rounding_errors_of_a_resumed_run_are_accepted():
    one = torch.ones(2, 3, dtype=torch.float64)
    played = [
        rehearsal._Played(Snapshot(5, {"x": x}, [], [], []), rehearsal._Kept(lambda t: None))
        for x in (one, one + 1e-12, one + 1e-3)
    ]
    assert rehearsal._equal(played[0], played[1], probe.CLOSE)
    assert not rehearsal._equal(played[0], played[2], probe.CLOSE)


def test_errors_of_a_plugin_are_left_to_the_run(monkeypatch):
    monkeypatch.setitem(DRAWS, "keyed", lambda: [][0])
    run = config(algo="mine", nodes=4)
    preflight.check(run)
    with pytest.raises(IndexError):
        engine_of(run).compute([run], Kept(), None, None)


@pytest.mark.parametrize(
    ("change", "values"),
    [
        (lambda s, mix: s._replace(x=s.x.mean(1)), r"state x .*\(1, \d+\) .*\(1, 4, \d+\)"),
        (lambda s, mix: s._replace(x=mix(s.x)), r"state x .*`\(x,\) = mix\("),
        (lambda s, mix: s._replace(x=mix(s.x) - s.x), r"TypeError.*test_rehearsal\.py:\d+: .*`\(x,\) = mix\("),
        (lambda s, mix: s.x, r"NamedTuple.* Tensor"),
    ],
)
@pytest.mark.parametrize("when", ["start", "step"])
def test_a_malformed_state_ends_in_a_sentence_that_names_the_contract(change, values, when, monkeypatch):
    class Wrong(DSGD):
        pass

    def changed(self, *given):
        return change(getattr(DSGD, when)(self, *given), given[-1])

    setattr(Wrong, when, changed)
    algorithm("wrong", vectors_per_step=1, cite="nobody")(Wrong)
    run, kept = config(algo="wrong", nodes=4), Kept()
    with pytest.raises(UserError, match=rf"^algo=wrong: .*{values}.*`python bench/contract\.py wrong`$"):
        engine_of(run).compute([run], kept, None, None)
    assert kept.rows == [[]]
