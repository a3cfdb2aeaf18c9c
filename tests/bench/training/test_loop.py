"""The training loop: rows against the definitions of their columns, divergence, resuming."""

import math
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from algorithms.dsgd import State
from bench.base.evaluation import evaluation_steps
from bench.base.registry import algorithms, datasets
from bench.build.build import build_algorithm, build_problem
from bench.build.network import mixing_of
from bench.contracts.simulate import simulate
from bench.engine import stacked
from bench.method.trajectory import assemble
from bench.network.mixing import build_mixing
from bench.problem.problem import Setting
from bench.store.record import COLUMNS
from bench.training import costs
from bench.training.costs import Stopwatch
from bench.training.hosting import Mixer, OneProcess
from bench.training.loop import Timetable, Training
from bench.training.metrics import Measurement, measure
from bench.training.mixers import DenseMixer
from tests.helpers.configs import Kept, config, rows
from tests.helpers.few import few
from tests.helpers.synchronous import SYNCHRONOUS

TIMES = {"compute_s", "comm_s", "eval_s", "wall_s"}


def test_evaluation_steps():
    assert evaluation_steps(10, 4, "linear") == [0, 4, 8, 10]
    assert evaluation_steps(3, 100, "linear") == [0, 3]
    log = evaluation_steps(10000, 200, "log")
    assert log[:3] == [0, 1, 2]
    assert log[-1] == 10000
    assert len(log) <= 51
    ratios = np.diff(np.log(log[20:]))
    assert ratios.max() < 1.3 * ratios.min()


@pytest.mark.parametrize("name", few(SYNCHRONOUS, ["dsgd", "dsgt", "dnasa"]))
def test_metrics_match_their_definitions(name):
    """Recomputed from a simulation on the same problem, with NumPy."""
    c = config(algo=name, topology={"name": "ring", "lazy": True}, eval_every=1)
    (measured,) = rows(c)
    setting = Setting(6, range(6), (0,), 2, torch.float64, torch.device("cpu"))
    f = datasets["synthetic"](setting, dimension=10, evaluation=100)
    w = torch.as_tensor(build_mixing("ring", 6, lazy=True).matrices[0])
    trace = simulate(algorithms[name], w, f.grad, f.start(), 40, c.algo.options)
    theta, properties = f._target[0].numpy(), algorithms[name].declare_for({})
    for t, (row, state) in enumerate(zip(measured, trace.states, strict=True)):
        X = state.x[0].numpy()
        point = getattr(state, properties.report or "x").mean(1)
        mean, middle = X.mean(axis=0), point[0].numpy()
        gradient = 2 * (middle - theta)
        assert row["step"] == t
        assert row["train_loss"] == pytest.approx(((middle - theta) ** 2).sum() + 0.01)
        assert row["test_loss"] == pytest.approx(f.evaluate(point).test_loss.item())
        assert row["test_loss"] != row["train_loss"]
        each = ((getattr(state, properties.report or "x")[0].numpy() - theta) ** 2).sum(axis=1) + 0.01
        assert row["node_loss"] == pytest.approx(each.mean())
        assert row["grad_norm"] == pytest.approx(np.linalg.norm(gradient))
        assert row["stationarity"] == pytest.approx((gradient**2).sum())
        assert row["consensus"] == pytest.approx(((X - mean) ** 2).sum() / 6, rel=1e-9, abs=1e-25)
        if properties.averages:
            Z = getattr(state, properties.averages)[0].numpy()
            assert row["consensus_z"] == pytest.approx(((Z - Z.mean(axis=0)) ** 2).sum() / 6, rel=1e-9, abs=1e-25)
        else:
            assert row["consensus_z"] is None
        if estimate := properties.estimates:
            off = getattr(state, estimate)[0].numpy().mean(axis=0) - gradient
            assert row["tracking_error"] == pytest.approx(np.linalg.norm(off))
        else:
            assert row["tracking_error"] is None


@pytest.mark.parametrize("spacing", ["linear", "log"])
def test_running_mean_is_the_trapezoid_rule_over_evaluated_steps(spacing):
    (measured,) = rows(config(eval_every=7, eval_spacing=spacing))
    steps = [row["step"] for row in measured]
    norms = [row["grad_norm"] for row in measured]
    assert measured[0]["grad_norm_mean"] == norms[0]
    for k in range(1, len(steps)):
        area = np.trapezoid(norms[: k + 1], steps[: k + 1])
        assert measured[k]["grad_norm_mean"] == pytest.approx(area / steps[k], rel=1e-12)


def test_counts_samples_rounds_and_bytes():
    (gt,) = rows(config(algo="dsgt"))
    # one sample at the start, one a step; 2 vectors of 10 float64 over 12 directed edges
    assert [row["samples"] for row in gt] == [(1 + t) * 2 * 6 for t in (0, 10, 20, 30, 40)]
    assert gt[-1]["rounds"] == 40
    assert gt[-1]["vectors_sent"] == 80
    assert gt[-1]["bytes"] == 40 * 2 * 10 * 8 * 12
    assert gt[-1]["epoch"] is None  # a stream has no epochs
    (single,) = rows(config(algo="dsgd", dtype="float32"))
    assert single[-1]["bytes"] == 40 * 1 * 10 * 4 * 12
    assert [row["samples"] for row in single] == [t * 2 * 6 for t in (0, 10, 20, 30, 40)]
    assert list(single[-1]) == COLUMNS


def test_seconds_add_up():
    (measured,) = rows(config())
    for row in measured:
        assert row["wall_s"] == pytest.approx(row["compute_s"] + row["comm_s"] + row["eval_s"])
        assert min(row[name] for name in TIMES) >= 0
    assert measured[-1]["wall_s"] > measured[0]["wall_s"]


def test_time_in_mix_is_communication(monkeypatch):
    c = config(steps=5)
    setting = Setting(6, range(6), (0,), 2, torch.float64, torch.device("cpu"))
    problem = build_problem(c, setting)

    class Slow(Mixer):
        def __call__(self, r, t, tensors, by="mix"):
            clock[0] += 0.02
            return tensors

    clock, kept = [0.0], Kept()
    monkeypatch.setattr(costs, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    method, hosting = build_algorithm([c], problem), OneProcess(6, Slow())
    Training(method, problem, hosting, [mixing_of(c)], Timetable(5, [5]), kept).run()
    last = kept.rows[0][-1]
    assert last["comm_s"] == pytest.approx(0.1)
    assert last["compute_s"] == pytest.approx(0)


def test_rounds_are_numbered_through_the_run():
    """A method with two rounds a step on a graph that changes every round."""
    seen = []

    class Twice(algorithms["dsgd"]):
        declaration = replace(algorithms["dsgd"].properties, rounds=2, vectors_per_step=2)

        def step(self, s, t, grad, mix):
            (x,) = mix(s.x - self.eta[t] * grad(s.x, t))
            return s._replace(x=mix(x)[0])

    c = config(steps=4, nodes=4, algo="dsgd")
    problem = build_problem(c, Setting(4, range(4), (0,), 2, torch.float64, torch.device("cpu")))
    sequence = build_mixing("one_peer_exponential", 4)

    class Watched(DenseMixer):
        def __call__(self, r, t, tensors, by="mix"):
            seen.append((r, t))
            return super().__call__(r, t, tensors, by)

    kept = Kept()
    twice = assemble(Twice, problem.layout, [c.algo.options], n=4, T=4, dtype=torch.float64)
    Training(
        twice,
        problem,
        OneProcess(4, Watched([sequence], torch.float64, torch.device("cpu"))),
        [sequence],
        Timetable(4, [4]),
        kept,
    ).run()
    last = kept.rows[0][-1]
    assert seen == [(r, r // 2) for r in range(8)]  # each of them in its step
    assert last["rounds"] == 8
    assert last["consensus"] < 1e-25  # two rounds of one-peer exponential average four nodes exactly
    assert last["bytes"] == 8 * 4 * 10 * 8


def test_any_nonfinite_metric_is_a_divergence():
    whole = {field.name: np.ones(2) for field in fields(Measurement) if field.name not in ("own", "node_loss")}
    whole["node_loss"] = None
    assert Measurement(**whole).finite.tolist() == [True, True]
    assert Measurement(**{**whole, "test_accuracy": None, "consensus_z": None}).finite.all()
    for name in whole.keys() - {"node_loss"}:
        assert Measurement(**{**whole, name: np.array([1.0, np.nan])}).finite.tolist() == [True, False], name
    broken = Measurement(**{**whole, "test_accuracy": np.array([np.nan, 50.0])})
    assert broken.row(0)["test_accuracy"] is None
    assert broken.row(1)["test_accuracy"] == 50.0


def test_consensus_is_computed_in_float64():
    """A difference of 1e-4 at 1000 is not rounding."""
    c = config(dtype="float32", dataset={"name": "quadratics", "dimension": 3})
    problem = build_problem(c, Setting(6, range(6), (0,), 2, torch.float32, torch.device("cpu")))
    x = torch.full((1, 6, 3), 1000.0)
    x[0, 0] += 2.0**-13
    hosting = OneProcess(6, lambda r, tensors: tensors)
    measured = measure(State(x), problem, hosting, algorithms["dsgd"].properties)
    assert measured.consensus[0] == pytest.approx(3 * 2.0**-26 * 5 / 36, rel=1e-9)


def test_consensus_stays_below_its_bound_and_only_dnasa_has_one():
    for topology in ("ring", "ladder", "random"):
        (measured,) = rows(config(topology=topology, eval_every=1, steps=100))
        for row in measured:
            assert row["consensus"] <= row["consensus_bound"] * (1 + 1e-9)
        rho, b = mixing_of(config(topology=topology)).certificate.rho, 0.0
        for t, row in enumerate(measured):
            assert row["consensus_bound"] == pytest.approx(b**2, rel=1e-12, abs=1e-300)
            b = rho * (b + (6**0.25 / t**0.75 if t else 0.0))
        sparse = rows(config(topology=topology, eval_every=50, steps=100))[0]
        assert sparse[-1]["consensus_bound"] == pytest.approx(measured[-1]["consensus_bound"])
    assert rows(config(algo="dsgd"))[0][-1]["consensus_bound"] is None
    assert rows(config(topology="one_peer_exponential", nodes=8))[0][-1]["consensus_bound"] is None


def test_the_bound_starts_where_the_run_starts():
    digits = {
        "dataset": "digits",
        "model": "linear",
        "init": "independent",
        "batch_size": 4,
        "steps": 20,
        "eval_every": 1,
    }
    (measured,) = rows(config(**digits))
    assert measured[0]["consensus"] > 1e-3
    assert measured[0]["consensus_bound"] == measured[0]["consensus"]
    assert all(row["consensus"] <= row["consensus_bound"] * (1 + 1e-9) for row in measured)


@pytest.mark.parametrize("name", few(SYNCHRONOUS, ["dsgt", "push_pull"]))
def test_replicas_equal_separate_runs(name):
    lazy = {"name": "ring", "lazy": True}
    changes = [
        {"topology": lazy},
        {"topology": lazy, "seed": 4},
        {"topology": "complete"},
        {"topology": lazy, "algo": {"name": name, "schedule": "fixed"}},
    ]
    configs = [config(**{"algo": name, **change}) for change in changes]
    together = rows(*configs)
    for c, ours in zip(configs, together, strict=True):
        (alone,) = rows(c)
        for a, b in zip(ours, alone, strict=True):
            assert a.keys() == b.keys()
            for column in set(COLUMNS) - TIMES:
                if b[column] is None:
                    assert a[column] is None
                else:
                    assert a[column] == pytest.approx(b[column], rel=1e-10, abs=1e-20), column


def test_scale_multiplies_losses_and_dnasa_is_invariant():
    (one,), (eight,) = rows(config()), rows(config(scale=8.0))
    for a, b in zip(one, eight, strict=True):
        assert b["consensus"] == a["consensus"]
        assert b["train_loss"] == 8 * a["train_loss"]
        assert b["test_loss"] == 8 * a["test_loss"]
        assert b["grad_norm"] == pytest.approx(8 * a["grad_norm"], rel=1e-14)


def test_a_diverging_run_stops_with_its_metrics():
    observer = Kept()
    c = config(algo={"name": "dsgd", "schedule": "constant", "eta": 1e200}, steps=1000)
    (outcome,) = stacked.run([c], observer)
    (kept,) = observer.rows
    assert (outcome.state, outcome.step) == ("nonfinite", 10)
    assert [row["step"] for row in kept] == [0, 10]
    assert math.isfinite(kept[0]["train_loss"])
    assert not math.isfinite(kept[1]["train_loss"])


def test_overflow_of_a_square_is_a_divergence():
    c = config(
        algo={"name": "dsgd", "schedule": "constant", "eta": 1e160},
        dataset={"name": "synthetic", "dimension": 1},
        eval_every=1,
    )
    (outcome,) = stacked.run([c], Kept())
    assert outcome.state == "nonfinite"


def test_a_diverging_replica_does_not_affect_the_others():
    wild = config(algo={"name": "dsgd", "schedule": "constant", "eta": 1e200})
    calm = config(algo={"name": "dsgd", "schedule": "constant", "eta": 1e-3})
    kept = Kept(2)
    outcomes = stacked.run([wild, calm], kept)
    assert [outcome.state for outcome in outcomes] == ["nonfinite", "done"]
    (alone,) = rows(calm)
    assert [row["train_loss"] for row in kept.rows[1]] == [row["train_loss"] for row in alone]


def test_a_resumed_run_computes_no_gradient_but_those_of_its_steps():
    """D-SGT starts with a gradient; a resumed run needs the shapes of that state, not its values."""
    asked = []

    class Counted(datasets["synthetic"]):
        def grad(self, x, s, stream=0):
            asked.append(s)
            return super().grad(x, s, stream)

    c = config(algo="dsgt")
    problem = Counted(Setting(6, range(6), (0,), 2, torch.float64, torch.device("cpu")), dimension=10, evaluation=100)
    hosting = OneProcess(6, DenseMixer([mixing_of(c)], torch.float64, torch.device("cpu")))
    method = build_algorithm([c], problem)
    _, middle = Training(method, problem, hosting, [mixing_of(c)], Timetable(10, []), Kept()).run()
    assert asked == [0, *range(1, 11)]
    asked.clear()
    Training(method, problem, hosting, [mixing_of(c)], Timetable(12, [12]), Kept(), middle).run()
    assert asked == [11, 12]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_gpu_communication_time_is_that_of_the_gpu():
    torch.cuda._sleep(1)  # the first call compiles
    torch.cuda.synchronize()
    for compute, communicate in ((2_000_000, 1_000_000), (1_000_000, 2_000_000)):
        clock = Stopwatch(1)
        for _ in range(200):
            torch.cuda._sleep(compute)
            with clock.gpu_round():
                torch.cuda._sleep(communicate)
        torch.cuda.synchronize()
        (spent,) = clock.seconds()
        assert spent["comm_s"] / spent["compute_s"] == pytest.approx(communicate / compute, rel=0.1)
        assert spent["wall_s"] == pytest.approx(spent["comm_s"] + spent["compute_s"])
