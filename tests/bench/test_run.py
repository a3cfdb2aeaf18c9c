"""bench/run.py from the outside."""

import json

import pyarrow.parquet as pq
import pytest
import torch
import yaml

from bench.store.record import COLUMNS
from tests.helpers.cli import fresh, refused, typed
from tests.helpers.few import few

QUICK = ("steps=30", "eval_every=10")


def test_the_first_sweep(tmp_path):
    """The README's sweep, smaller, from a foreign directory, beside a stranger's `datasets`."""
    foreign = tmp_path / "elsewhere"
    (foreign / "datasets").mkdir(parents=True)
    (foreign / "datasets" / "__init__.py").write_text("raise ImportError('the wrong datasets')")
    words = ("-m", "algo=dnasa,dsgt", "topology=ring,complete", "ranks=1", *QUICK)
    done = fresh("bench/run.py", *words, cwd=foreign, PYTHONPATH=str(foreign))
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"Starting {' '.join(words)}\n"
    folders = sorted((foreign / "results" / "runs").iterdir())
    assert len(folders) == 4
    assert {path.name for path in foreign.iterdir()} == {"datasets", "results"}  # Hydra leaves nothing behind
    assert "Results: results/runs" in done.stdout
    for folder in folders:
        assert folder.name in done.stdout
        names = {"config.yaml", "log.txt", "manifest.json", "metrics.parquet", "status.json", "summary.json"}
        assert {path.name for path in folder.iterdir()} == names
        assert json.loads((folder / "status.json").read_text())["state"] == "done"
        metrics = pq.read_table(folder / "metrics.parquet").to_pydict()
        assert list(metrics) == COLUMNS
        assert metrics["step"] == [0, 10, 20, 30]
        summary = json.loads((folder / "summary.json").read_text())
        assert summary["run_id"] == folder.name
        assert summary["test_loss"] == metrics["test_loss"][-1]
        assert yaml.safe_load((folder / "config.yaml").read_text())["algo"]["name"] == summary["algo"]
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["mixing"]["rho"] == pytest.approx(0.8047 if summary["topology"] == "ring" else 0, abs=1e-4)
        assert manifest["algorithm"]["vectors_per_step"] == (3 if summary["algo"] == "dnasa" else 2)

    again = typed(*words, cwd=foreign)
    assert again.stdout.count("by engine mpi") == 4
    assert typed(*words, "force=true", "engine=stacked", cwd=foreign).stdout.count("before") == 0


def test_the_first_line_comes_before_torch_is_imported(tmp_path):
    (tmp_path / "torch.py").write_text("raise SystemExit(3)")
    done = fresh("bench/run.py", "algo=dsgd", "steps=5", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "Starting algo=dsgd steps=5\n")
    view = fresh("bench/run.py", "--cfg=job", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (view.returncode, view.stderr) == (3, "")


@pytest.mark.thorough
def test_the_script_itself_rejects_an_unknown_method(tmp_path):
    """In a fresh process, unlike the table below."""
    wrong = fresh("bench/run.py", "algo=dnaas", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "'dnasa'" in wrong.stderr
    assert "Traceback" not in wrong.stderr


@pytest.mark.parametrize("engine", ["stacked", pytest.param("mpi", marks=pytest.mark.thorough)])
def test_one_run(engine, tmp_path):
    words = ("algo=dsgd", "algo.eta=0.02", "seed=3", "eval_spacing=log", f"engine={engine}")
    one = typed(*words, *QUICK, cwd=tmp_path)
    assert one.returncode == 0, one.stderr
    assert len(list((tmp_path / "results/runs").glob("dsgd-ring-digits-s3-*"))) == 1


@pytest.mark.thorough
def test_an_experiment(tmp_path):
    many = typed("experiment=example", "seed=0", "results=here", "engine=stacked", *QUICK, cwd=tmp_path)
    assert many.returncode == 0, many.stderr
    assert len(list((tmp_path / "here/runs").iterdir())) == 3 * 4 * 2 + 2


def test_divergence_is_a_result_and_failure_an_error(tmp_path):
    wild_step = ("dataset=synthetic", "algo=dsgd", "algo.schedule=constant", "algo.eta=1e30")
    wild = typed(*wild_step, "engine=stacked", *QUICK, cwd=tmp_path)
    assert wild.returncode == 0
    assert "nonfinite at step 10" in wild.stdout
    # no machine has the memory for a trillion evaluation samples
    sizes = ("dataset=synthetic", "dataset.evaluation=1000000000000,50")
    broken = typed("-m", *sizes, "seed=5", "steps=30", "engine=stacked", cwd=tmp_path)
    assert broken.returncode == 1
    assert "failed:" in broken.stdout
    assert "log.txt" in broken.stdout
    states = {
        json.loads((folder / "status.json").read_text())["state"]
        for folder in (tmp_path / "results/runs").glob("dnasa-ring-synthetic-s5-*")
    }
    assert states == {"failed", "done"}  # the other run of the sweep went on


BAD = {
    "algo=dnaas": "'dnasa'",
    "algo.etaa=1": "'algo.etaa'",
    "algo=dsgd algo.eta=abc": "'abc'",
    "algo=d2": "topology.lazy=true",
    "topology=ladder nodes=7": "got 7",
    "topology.weights=metropolos": "'metropolis'",
    "topology=rings": "'ring'",
    "experiment=exampel": "'example'",
    "steps=0": "got 0",
    "stepps=1": "'steps'",
    "eta=0.1": "'algo.eta'?",
    "p=0.3": "'algo.p' or 'topology.p' or 'links.p'",
    "batch=3": "'batch_size'",
    "lr=0.1": "'lr'. Known: ",
    "algo.steps=5": "'steps'?",
    "topology.eta=1": "'algo.eta'?",
    "experiment=speedup": "'paper/speedup'?",
    "algo=dsgd algo.beta=0.9": "'algo.beta'. Known: eta, ",
    "seed=-1": "got -1",
    "+foo=1": "'foo'",
    "dtype=float16": "float32, float64",
    "algo=dnasa,dsgt": "algo=dnasa,dsgt",
    "-m algo=d2 seed=0,1 steps=10": "topology.lazy=true",
    "topology=random topology.p=2": "got 2",
    "dataset=synthetic dataset.dimension=-1": "got -1",
    "ranks=9": "got 9",
    "engine.launch=[nompi]": "'nompi'",
    "engine=stacked ranks=2": "ranks=2",
}
"""Invalid command lines, and the value or the suggestion that their error names."""
PLAINEST = ["algo=dnaas", "algo.etaa=1", "algo=dsgd algo.eta=abc", "algo=d2", "topology=ladder nodes=7", "steps=0"]
PLAINEST += ["stepps=1", "eta=0.1", "seed=-1", "+foo=1", "dtype=float16", "algo=dnasa,dsgt", "ranks=9"]
PLAINEST += ["engine.launch=[nompi]"]


@pytest.mark.parametrize("words", few(BAD, PLAINEST))
def test_rejects_invalid_settings_and_writes_nothing(words, tmp_path):
    refused(words, BAD[words], tmp_path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize("engine", ["mpi", "stacked"])
def test_rejects_cuda_without_a_gpu(engine, tmp_path):
    done = typed("device=cuda", f"engine={engine}", cwd=tmp_path)
    assert done.returncode == 2
    assert "device=cuda" in done.stderr


def test_rejects_an_unwritable_results_folder(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    done = typed("results=file/results", *QUICK, cwd=tmp_path)
    assert done.returncode == 2
    assert "file/results" in done.stderr
    assert "Traceback" not in done.stderr
