"""Runs as replicas of one program: the same numbers, the same folders, a size that fits."""

import io
import json

import pandas as pd
import pytest
import torch
from rich.console import Console

from algorithms.acid import ACiD
from bench.base.errors import UserError
from bench.base.registry import algorithms, engines
from bench.config.compose import compose_one
from bench.engine import stacked
from bench.engine.engines import Stacked
from bench.method import algorithm
from bench.sweep import groups as grouping
from bench.sweep import memory as batch
from bench.sweep.groups import batches, program
from bench.sweep.memory import bytes_per_replica, problem_of
from bench.sweep.sweep import run_all
from bench.training.observer import Outcome
from tests.helpers.cli import ROOT, fresh, python, typed
from tests.helpers.configs import Kept, config, rows
from tests.helpers.few import few
from tests.helpers.run_folders import TIMES, folders, metrics, state
from tests.helpers.synchronous import SYNCHRONOUS

MIXED = [
    ("diminishing", 0.05, "ring", 0),
    ("fixed", 0.2, "complete", 1),
    ("constant", 0.01, "ladder", 0),
    ("diminishing", 0.3, "star", 2),
]


def mixed(algo: str, **changes):
    """Runs of one method that differ in everything a group may differ in."""
    out = []
    for schedule, eta, graph, seed in MIXED:
        stepsizes = {"schedule": schedule, **({"eta": eta} if "eta" in algorithms[algo].stepsize_options() else {})}
        topology = {"name": graph, "lazy": True}
        out.append(config(algo={"name": algo, **stepsizes}, topology=topology, seed=seed, **changes))
    return out


def test_runs_with_other_rates_of_meetings_are_not_grouped(monkeypatch):
    monkeypatch.setattr(algorithms, "_items", dict(algorithms._items))

    @algorithm("smooth", events="meetings", vectors_per_step=1, cite="nobody")
    class Smooth(ACiD):
        rate: float = 1.0
        accelerate: bool = False

    def run(rate: float, eta: float):
        algo = {"name": "smooth", "rate": rate, "eta": eta}
        return config(algo=algo, engine="events", network={"name": "lan"}, steps=4, eval_every=4)

    runs = [run(1.0, 0.01), run(4.0, 0.01), run(1.0, 0.02)]
    assert batches(runs)[0] == [[0, 2], [1]]
    assert rows(runs[0])[0][-1]["bytes"] < rows(runs[1])[0][-1]["bytes"]


PAIRS = [(algo, dataset) for algo in SYNCHRONOUS for dataset in ("synthetic", "digits")]


@pytest.mark.parametrize(("algo", "dataset"), few(PAIRS, [("dnasa", "synthetic"), ("dsgd", "digits")]))
def test_a_group_computes_what_each_run_computes_alone(algo, dataset):
    """Relative to 1e-10 in float64, over 40 steps, or 20 of a larger model, every column."""
    changes = {"steps": 40, "eval_every": 20}
    if dataset == "digits":
        changes = {"steps": 20, "eval_every": 10, "model": "mlp", "partition": "iid", "batch_size": 4}
        changes |= {"dataset": "digits"}
    group = mixed(algo, **changes)
    for together, c in zip(rows(*group), group, strict=True):
        (alone,) = rows(c)
        for ours, theirs in zip(together, alone, strict=True):
            for name in set(ours) - set(TIMES):
                expected = theirs[name] if theirs[name] is None else pytest.approx(theirs[name], rel=1e-10, abs=1e-24)
                assert ours[name] == expected, name


def test_runs_share_a_program_where_only_stepsizes_seed_and_graph_differ():
    base = program(config())
    for same in (
        config(seed=4),
        config(algo={"name": "dnasa", "schedule": "fixed", "multiplier": 2.0}),
        config(topology="complete"),
        config(topology={"name": "ring", "lazy": True}),
        config(results="elsewhere", force=True),
    ):
        assert program(same) == base
    for other in (
        config(algo="dsgd"),
        config(steps=41),
        config(batch_size=3),
        config(dtype="float32"),
        config(eval_every=20),
        config(scale=2.0),
        config(dataset="quadratics"),
        config(nodes=5),
        config(checkpoint_every=10),
        config(engine={"name": "stacked", "memory_gb": 1.0}),
    ):
        assert program(other) != base
    many = {"nodes": 64}
    assert program(config(**many)) == program(config(seed=1, **many))
    assert program(config(**many)) != program(config(topology="complete", **many))
    assert program(config(nodes=8)) != program(config(nodes=8, topology="one_peer_exponential"))


def test_groups_follow_the_memory_they_may_take():
    configs = [config(seed=seed, algo=algo) for algo in ("dnasa", "dsgd") for seed in range(10)]
    assert batches(configs) == ([list(range(10)), list(range(10, 20))], 1)
    each = bytes_per_replica(configs[0], problem_of(configs[0]))
    small = {"name": "stacked", "memory_gb": (batch.FIXED + 4 * each) / 1e9}
    groups, jobs = batches([config(seed=seed, engine=small) for seed in range(10)])
    assert (sorted(map(len, groups)), jobs) == ([3, 3, 4], 1)
    assert sorted(place for group in groups for place in group) == list(range(10))
    tiny = {"name": "stacked", "memory_gb": 1e-6}
    assert batches([config(seed=seed, engine=tiny) for seed in range(3)]) == ([[0], [1], [2]], 1)
    assert batches([config(seed=seed, engine="mpi") for seed in range(3)]) == ([[0], [1], [2]], 1)


def test_a_third_engine_is_one_registration(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "_items", dict(engines._items))

    @engines.register("patient")
    class Patient(Stacked):
        grouped = False
        breath: bool = True

    configs = [config(seed=seed, engine={"name": "patient", "breath": False}, results=str(tmp_path)) for seed in (0, 1)]
    assert configs[0].engine.options == {"memory_gb": None, "capture": True, "timeout_s": 300.0, "breath": False}
    assert batches(configs) == ([[0], [1]], 1)
    assert run_all(configs, Console(quiet=True)) == 0
    assert [json.loads((f / "manifest.json").read_text())["engine"] for f in folders(tmp_path)] == ["patient"] * 2


def test_long_sweeps_get_a_process_per_core(monkeypatch):
    monkeypatch.setattr(grouping, "cores", lambda: 2)
    long = [config(seed=seed, steps=100_000) for seed in range(5)]
    assert batches(long) == ([[0, 1], [2, 3, 4]], 2)
    assert batches([config(seed=seed, steps=100_000, jobs=1) for seed in range(5)])[1] == 1
    assert batches([config(seed=seed, jobs=3) for seed in range(5)]) == ([[0], [1, 2], [3, 4]], 3)


def test_each_run_goes_to_its_own_results_and_jobs_are_the_sweeps(tmp_path):
    apart = [config(seed=seed, results=str(tmp_path / f"of {seed}")) for seed in (0, 1)]
    said = io.StringIO()
    assert run_all(apart, Console(file=said, width=200)) == 0
    for c in apart:
        (folder,) = folders(tmp_path / f"of {c.seed}")
        assert (folder.name, state(folder)["state"]) == (c.run_id, "done")
        assert f"Results: {c.results}/runs" in said.getvalue()
    with pytest.raises(UserError, match=r"jobs=null .*jobs=2"):
        run_all([config(), config(seed=1, jobs=2)], Console(quiet=True))


PEAK = """
import sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
import torch
from bench.sweep import memory as batch
from bench.engine import stacked
from bench.training.observer import Observer
from tests.helpers.configs import config

torch.set_num_threads(1)
# not getrusage, whose maximum is inherited from the process that started this one
peak = lambda: 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
few, many = (
    [config(dataset={"name": "planted", "samples": 600, "tests": 60, "features": 784, "square": True},
            model=sys.argv[2], algo=sys.argv[3], dtype="float32", nodes=8, batch_size=32, steps=2, eval_every=2,
            seed=seed) for seed in range(count)] for count in (1, int(sys.argv[4]))
)
stacked.run(few, Observer())
before = peak()
stacked.run(many, Observer())
each = batch.bytes_per_replica(few[0], batch.problem_of(few[0]))
print((peak() - before) / (len(many) * each))
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("model", "algo", "replicas"), [("mlp", "dnasa", "20"), ("mlp", "dsgd", "40"), ("lenet", "dnasa", "6")]
)
def test_the_estimate_of_memory_is_an_upper_bound_of_the_measured_peak_and_not_a_wild_one(
    model, algo, replicas, tmp_path
):
    (tmp_path / "peak.py").write_text(PEAK)
    done = fresh(tmp_path / "peak.py", str(ROOT), model, algo, replicas)
    assert 0.3 < float(done.stdout) < 1, done.stderr


def test_the_dead_are_dropped_and_the_rest_goes_on_as_if_alone():
    wild = {"name": "dsgd", "schedule": "constant", "eta": 1e200}
    calm = {"name": "dsgd", "schedule": "constant", "eta": 1e-3}
    group = [
        config(algo=wild),
        config(algo=calm),
        config(algo=wild, seed=1),
        config(algo=calm, seed=1, topology="star"),
    ]
    kept = Kept(4)
    outcomes = stacked.run(group, kept)
    assert outcomes == [Outcome("nonfinite", 10), Outcome("done", 40), Outcome("nonfinite", 10), Outcome("done", 40)]
    assert kept.ends == dict(enumerate(outcomes))
    for r in (1, 3):
        (alone,) = rows(group[r])
        assert [row["train_loss"] for row in kept.rows[r]] == pytest.approx(
            [row["train_loss"] for row in alone], rel=1e-12
        )
        assert [row["wall_s"] for row in kept.rows[r]] == sorted(row["wall_s"] for row in kept.rows[r])


SWEEP = ("dataset=digits", "steps=60", "eval_every=20", "nodes=4", "batch_size=8", "engine=stacked", "-m")


@pytest.mark.thorough
def test_from_the_outside_a_group_is_so_many_runs(tmp_path):
    words = [*SWEEP, "algo=dsgd", "algo.eta=0.01,0.1,1e38", "topology=ring,star", "seed=0,1"]
    done = typed(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    runs = folders(tmp_path / "results")
    assert len(runs) == 12
    for folder in runs:
        wild = json.loads((folder / "summary.json").read_text())["eta"] == 1e38
        assert state(folder)["state"] == ("nonfinite" if wild else "done")
        assert json.loads((folder / "manifest.json").read_text())["replicas"] == 12
    assert typed(*words, "seed=0,1,2", cwd=tmp_path).stdout.count("before, by engine stacked") == 12
    alone = typed(*SWEEP[:-1], "algo=dsgd", "algo.eta=0.1", "topology=star", "results=alone", cwd=tmp_path)
    assert alone.returncode == 0
    (one,) = folders(tmp_path / "alone")
    same = next(folder for folder in runs if folder.name == one.name)
    pd.testing.assert_frame_equal(metrics(same), metrics(one), rtol=2e-4, atol=1e-12)


@pytest.mark.thorough
def test_one_that_fails_does_not_take_its_group_along(tmp_path):
    environment = {"HEARSAY_PLUGINS": "tests.helpers.picky", "PYTHONPATH": str(ROOT)}
    conf = tmp_path / "conf/algo"
    conf.mkdir(parents=True)
    (conf / "picky.yaml").write_text("name: picky\nschedule: constant\neta: 0.1\n")
    words = [*SWEEP, "algo=picky", "algo.eta=0.01,0.1,3", f"hydra.searchpath=[file://{tmp_path}/conf]"]
    done = python("bench/run.py", *words, cwd=tmp_path, **environment)
    assert done.returncode == 1, done.stdout + done.stderr
    states = {
        f["eta"]: f["state"]
        for f in (json.loads((p / "summary.json").read_text()) for p in folders(tmp_path / "results"))
    }
    assert states == {0.01: "done", 0.1: "done", 3: "failed"}
    assert "ArithmeticError: this stepsize is too large for me" in done.stdout


@pytest.mark.thorough
def test_a_killed_group_goes_on_to_the_same_end(tmp_path):
    words = [*SWEEP, "steps=700", "checkpoint_every=50", "algo=dsgt", "algo.eta=0.01,0.1,0.3", "seed=0,1"]
    assert typed(*words, "results=whole", cwd=tmp_path).returncode == 0
    for seconds in (0.6, 0.9):
        typed(*words, "results=killed", cwd=tmp_path, kill_after=seconds)
    assert typed(*words, "results=killed", cwd=tmp_path).returncode == 0
    for one, other in zip(folders(tmp_path / "killed"), folders(tmp_path / "whole"), strict=True):
        pd.testing.assert_frame_equal(metrics(one), metrics(other), check_exact=True)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("algo", SYNCHRONOUS)
def test_a_gpu_computes_what_the_cpu_computes(algo):
    """Of a perceptron ten steps: at these stepsizes a difference of 1e-16 grows tenfold in every ten, with Adam's
    methods and with momentum, until at 100 nothing is the same. AccumAdam's first steps divide by |G| + 1e-8: where G
    is as small, a difference grows 1e8 times."""
    tolerance = 1e-7 if algo == "accum_adam" else 1e-9
    for changes in ({"steps": 100, "eval_every": 50}, {"dataset": "digits", "model": "mlp", "steps": 10}):
        group = mixed(algo, **changes)
        on_gpu = [config(**{**vars(c), **_plain(c), "device": "cuda"}) for c in group]
        for ours, theirs in zip(rows(*on_gpu), rows(*group), strict=True):
            for a, b in zip(ours, theirs, strict=True):
                for name in set(a) - set(TIMES):
                    assert a[name] == (
                        b[name] if b[name] is None else pytest.approx(b[name], rel=tolerance, abs=1e-20)
                    ), name


def _plain(c):
    return {name: value for name, value in c.plain().items() if isinstance(value, dict)}


def test_limits_the_runs_of_a_group(monkeypatch):
    monkeypatch.setattr(grouping, "MOST", 10)
    groups, _ = batches([config(seed=seed) for seed in range(22)])
    assert sum(map(len, groups)) == 22
    assert max(map(len, groups)) <= 10


def test_a_problem_that_cannot_be_built_fails_alone(tmp_path):
    impossible = config(dataset={"name": "quadratics", "dimension": 10**9}, results=str(tmp_path))
    assert run_all([impossible, config(results=str(tmp_path))], Console(quiet=True)) == 1
    assert sorted(state(folder)["state"] for folder in folders(tmp_path)) == ["done", "failed"]


def test_asynchronous_runs_share_a_program_on_one_graph_only():
    def key(word):
        return program(compose_one(["algo=swift", word]))

    assert key("seed=1") == key("seed=2")
    assert key("topology=ring") != key("topology=star")


@pytest.mark.parametrize("algo", [name for name in algorithms if name not in SYNCHRONOUS])
def test_the_memory_of_asynchronous_runs_is_known(algo):
    c = compose_one([f"algo={algo}", "dataset=synthetic", "dataset.dimension=10"])
    assert 0 < bytes_per_replica(c, problem_of(c)) < 1e6
