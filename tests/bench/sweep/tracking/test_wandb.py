"""W&B gets every run, exactly, and is never in the way."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from analysis.results.folder import load_folder
from bench.config.compose import compose_one
from bench.sweep.sweep import run_all
from bench.sweep.tracking import wandb_run
from bench.sweep.tracking.wandb_run import shortened, title
from tests.helpers.cli import ROOT, typed
from tests.helpers.configs import config
from tests.helpers.disks import on_a_disk
from tests.helpers.run_folders import folders
from tests.helpers.wandb_files import images
from tests.helpers.wandb_runs import loaded
from tests.helpers.wandb_stub import stub
from tests.helpers.wandb_sweep import sweep_server
from tests.messages import NOT_UPLOADED

SHORT = ("dataset=digits", "steps=60", "eval_every=20", "nodes=4", "batch_size=8")
KEY = "0123456789" * 4


def command(script: str, *words: str, cwd: Path, background: bool = False, **environment: str):
    """A script with W&B as a user has it; nobody is logged in."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WANDB")}
    home = {"HOME": str(cwd), "WANDB_CACHE_DIR": str(cwd / "cache"), "OMP_NUM_THREADS": "1"}
    full, pipe = {**clean, **home, **environment}, subprocess.PIPE
    if not background and "PYTHONPATH" not in environment:
        return typed(*words, cwd=cwd, script=script, environment=full)
    process = subprocess.Popen(
        [sys.executable, str(ROOT / script), *words], cwd=cwd, env=full, stdout=pipe, stderr=pipe, text=True
    )
    if background:
        return process
    out, err = process.communicate(timeout=100)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def same(image, folder: Path) -> None:
    """The history holds exactly the numbers of the run."""
    expected = pq.read_table(folder / "metrics.parquet").to_pylist()
    assert len(image.history) == len(expected)
    for ours, theirs in zip(image.history, expected, strict=True):
        for name, value in theirs.items():
            if value is None:
                assert name not in ours
            elif isinstance(value, float) and not math.isfinite(value):
                assert str(ours[name]).replace("Infinity", "inf").lower() == str(value)
            else:
                assert ours[name] == value, name


WILD = ("-m", "engine=stacked", "algo=dsgd", "algo.schedule=constant", "algo.eta=0.01,1e38")
RANKS = pytest.param(("algo=dsgt", "ranks=2"), {"done"}, marks=(pytest.mark.thorough, pytest.mark.xdist_group("mpi")))


@pytest.mark.parametrize(("words", "states"), [(WILD, {"done", "nonfinite"}), RANKS])
def test_every_kind_of_run_is_there_with_its_numbers(words, states, tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "results" / ".wandb").mkdir(parents=True)  # W&B would write there unless told not to
    done = command("bench/run.py", *SHORT, *words, cwd=tmp_path, TMPDIR=str(tmp_path / "tmp"))
    assert done.returncode == 0, done.stderr
    assert "W&B" not in done.stdout
    assert not [path for path in (tmp_path / "tmp").iterdir() if not path.name.startswith("hydra_")]  # mpiexec's own
    assert not list((tmp_path / "results" / ".wandb").iterdir())
    found = images(tmp_path / "results")
    runs = folders(tmp_path / "results")
    assert {folder.name for folder in runs} == set(found)
    for folder in runs:
        image, summary = found[folder.name], json.loads((folder / "summary.json").read_text())
        same(image, folder)
        assert image.exits == [0]
        assert image.run.display_name.startswith(f"{summary['algo']} ring digits η=")
        assert {"algo", "topology", "dataset", "seed", "nodes", "eta", "schedule", "certificate"} <= set(image.config)
        assert image.config["eta"] == summary["eta"]
        assert set(image.run.tags) == {summary["algo"], "ring", "digits", summary["engine"]}
        assert image.run.job_type == f"{summary['engine']} cpu"
        assert {"step", "epoch", "bytes", "wall_s", "*"} <= image.axes
        (drawing,) = image.media
        assert "<svg" in drawing.read_text()
    (group,) = {image.run.run_group for image in found.values()}
    assert group.startswith("dataset=digits steps=60")
    assert {json.loads((folder / "summary.json").read_text())["state"] for folder in runs} == states


def test_a_run_is_named_by_what_tells_it_apart():
    labels = {"algo": "dsgt", "topology": "ring", "dataset": "a9a", "eta": 0.1, "batch_size": 8, "seed": 3}
    assert title(labels, ()) == "dsgt ring a9a η=0.1 s3"
    assert title(labels, ("seed", "eta", "batch_size", "alpha")) == "dsgt ring a9a η=0.1 batch_size=8 s3"
    long = ["algo=dsgd " * 20 + end for end in ("seed=0", "seed=1")]
    assert len({shortened(text, 64) for text in long}) == 2
    assert {len(shortened(text, 64)) for text in long} == {64}


@pytest.mark.thorough
def test_the_offline_folders_of_a_run_are_not_those_of_a_run_with_a_longer_id(tmp_path):
    for ending, run_id in (("a", "a"), ("a-1", "a"), ("a-12", "a-12"), ("ab", "ab"), ("b-a", "b-a")):
        folder = tmp_path / "wandb" / f"offline-run-20261115_061718-{ending}"
        folder.mkdir(parents=True)
        (folder / f"run-{run_id}.wandb").touch()
    for ending in ("a", "a-7", "b-a"):  # W&B was killed before it wrote the file
        (tmp_path / "wandb" / f"offline-run-20261115_061719-{ending}").mkdir()
    assert sorted(path.name[21:] for path in wandb_run.images(tmp_path, "a")) == ["061718-a", "061718-a-1", "061719-a"]


def test_runs_of_one_sweep_may_have_trackers_and_results_of_their_own(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("WANDB")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    wandb = {"name": "wandb", "project": "one"}
    asked = [(wandb, "here"), ({"name": "none"}, "here"), ({**wandb, "project": "two"}, "there")]
    configs = [config(seed=s, tracker=t, results=str(tmp_path / r)) for s, (t, r) in enumerate(asked)]
    assert run_all(configs, Console(quiet=True)) == 0
    for results, told in (("here", configs[:1]), ("there", configs[2:])):
        found = images(tmp_path / results)
        assert {name: image.run.project for name, image in found.items()} == {
            c.run_id: c.tracker.options["project"] for c in told
        }


@pytest.mark.thorough
def test_a_run_that_a_later_sweep_uses_is_listed_there_too(tmp_path):
    words = (*SHORT, "-m", "engine=stacked")
    assert command("bench/run.py", *words, "seed=0,1", cwd=tmp_path).returncode == 0
    done = command("bench/run.py", *words, "seed=1,2", cwd=tmp_path)
    assert done.stdout.count("done before") == 1
    tags = {name.rpartition("-")[0]: image.run.tags for name, image in images(tmp_path / "results").items()}
    assert [sum(tag.startswith("also ") for tag in tags[f"dnasa-ring-digits-s{s}"]) for s in range(3)] == [0, 1, 0]
    done = command("bench/run.py", *SHORT, "engine=stacked", "seed=2", cwd=tmp_path)  # nothing is made
    assert done.stdout.count("done before") == 1
    (tags,) = (image.run.tags for name, image in images(tmp_path / "results").items() if "-s2-" in name)
    assert [tag for tag in tags if tag.startswith("also ")] == [
        shortened(f"also {' '.join(SHORT)} engine=stacked seed=2", 64)
    ]


@pytest.mark.thorough
@pytest.mark.timeout(240)
def test_a_resumed_run_appears_once_and_complete(tmp_path):
    words = (*SHORT, "engine=stacked", "steps=3000", "checkpoint_every=50")
    process = command("bench/run.py", *words, cwd=tmp_path, background=True)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("results/runs/*/checkpoint/*.npz")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=90)[0]
    assert NOT_UPLOADED not in said
    (folder,) = folders(tmp_path / "results")
    assert images(tmp_path / "results")[folder.name].exits == [130]
    done = command("bench/run.py", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "manifest.json").read_text())["resumed"]
    same(images(tmp_path / "results")[folder.name], folder)


@pytest.mark.thorough
def test_sync_makes_what_is_missing_and_nothing_twice(tmp_path):
    words = (*SHORT, "-m", "engine=stacked", "seed=0,1,2")
    assert command("bench/run.py", *words, "tracker=none", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "results/wandb").exists()
    process = command("bench/sync.py", cwd=tmp_path, background=True)
    while not list(tmp_path.glob("results/runs/*/wandb.json")) and process.poll() is None:
        time.sleep(0.01)
    process.kill()  # in the middle
    process.communicate()
    done = command("bench/sync.py", "results", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = images(tmp_path / "results")
    for folder in folders(tmp_path / "results"):
        same(found[folder.name], folder)
    with stub("fine") as server:  # W&B's own upload of the offline runs
        offline = [str(path) for path in (tmp_path / "results/wandb").glob("offline-run-*")]
        environment = {**os.environ, "WANDB_BASE_URL": server.url, "WANDB_API_KEY": KEY, "HOME": str(tmp_path)}
        upload = [str(Path(sys.executable).with_name("wandb")), "sync", "--yes", *offline]
        subprocess.run(upload, env=environment, check=True, capture_output=True, timeout=60)
        assert {run: len(history) for run, history in server.history.items()} == dict.fromkeys(found, 4)
    assert "0 written (offline), 3 " in command("bench/sync.py", cwd=tmp_path).stdout
    assert command("bench/run.py", *words, "force=true", "tracker=none", cwd=tmp_path).returncode == 0
    assert "3 written" in command("bench/sync.py", cwd=tmp_path).stdout
    assert len(images(tmp_path / "results")) == 3
    done = command("bench/sync.py", "nowhere", cwd=tmp_path)
    assert (done.returncode, "'nowhere'" in done.stderr) == (2, True)


AGENTS = {"WANDB_SWEEP_ID": "sweep1", "WANDB_RUN_ID": "trial1"}


def test_rejects_several_runs_under_an_agent(tmp_path):
    done = command("bench/run.py", "-m", "seed=0,1", cwd=tmp_path, **AGENTS)
    assert done.returncode == 2, done.stderr
    assert "`wandb agent`" in done.stderr
    assert not list(tmp_path.glob("results/runs/*"))


def test_project_and_entity_come_from_the_environment_unless_typed(monkeypatch):
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    monkeypatch.delenv("WANDB_ENTITY", raising=False)
    assert compose_one([]).tracker.options == {"project": "hearsay", "entity": None}
    run_id = compose_one([]).run_id
    monkeypatch.setenv("WANDB_PROJECT", "theirs")
    monkeypatch.setenv("WANDB_ENTITY", "team")
    assert compose_one([]).tracker.options == {"project": "theirs", "entity": "team"}
    assert compose_one(["tracker.project=typed"]).tracker.options == {"project": "typed", "entity": "team"}
    assert compose_one([]).run_id == run_id


@pytest.mark.thorough
def test_variables_of_wandb_are_used_or_said_to_be_ignored(tmp_path):
    used = {"WANDB_RUN_GROUP": "mine", "WANDB_TAGS": "a,b", "WANDB_NOTES": "why", "WANDB_PROJECT": "theirs"}
    ignored = {"WANDB_RUN_ID": "same", "WANDB_RESUME": "must", "WANDB_DIR": str(tmp_path / "nowhere")}
    words = (*SHORT, "engine=stacked")
    done = command("bench/run.py", *words, "-m", "seed=0,1", cwd=tmp_path, WANDB_NAME="one", **used, **ignored)
    assert done.returncode == 0, done.stderr
    notices = [line.split()[0] for line in done.stdout.splitlines() if "is ignored:" in line]
    assert sorted(notices) == ["WANDB_DIR", "WANDB_NAME", "WANDB_RESUME", "WANDB_RUN_ID"]
    done = command("bench/run.py", *words, "seed=2", cwd=tmp_path, WANDB_NAME="one", **used)
    assert "is ignored" not in done.stdout
    runs = folders(tmp_path / "results")
    (runs[0] / "wandb.json").unlink()
    done = command("bench/sync.py", cwd=tmp_path, WANDB_RUN_GROUP="mine", WANDB_TAGS="a,b", WANDB_NOTES="why", **AGENTS)
    assert "1 written (offline), 2 " in done.stdout, done.stdout
    found = images(tmp_path / "results")
    assert set(found) == {folder.name for folder in runs}
    for name, image in found.items():
        same(image, tmp_path / "results/runs" / name)
        assert (image.run.project, image.run.run_group, image.run.notes) == ("theirs", "mine", "why")
        assert {"a", "b", "digits"} <= set(image.run.tags)
        assert (image.run.display_name == "one") == ("-s2-" in name)


def of_server(server, name: str) -> SimpleNamespace:
    """Return a run of the server as W&B's library does."""
    config = {key: entry["value"] for key, entry in json.loads(server.runs[name]["config"]).items()}
    history = server.history[name]
    rows = [history[number] for number in sorted(history)]
    return SimpleNamespace(config=config, summary=server.summaries[name], state="finished", history=lambda **_: rows)


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_a_real_agent_gets_every_run_of_its_sweep(tmp_path, monkeypatch):
    """Also one that the results folder has already; the yaml is the one of the documentation."""
    fixed = {"results": str(tmp_path / "results"), "engine": "stacked", **dict(word.split("=") for word in SHORT)}
    etas = [0.1, 0.2, 0.1]
    with sweep_server(ROOT / "docs/wandb_sweep.yaml", [{**fixed, "algo.eta": eta} for eta in etas]) as server:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WANDB")}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        ours = {"HOME": str(tmp_path), "PATH": path, "WANDB_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
        environment = {**clean, **ours, "WANDB_BASE_URL": server.url, "WANDB_API_KEY": server.known}
        agent = [str(Path(sys.executable).with_name("wandb")), "agent", "me/theirs/sweep1"]
        done = subprocess.run(agent, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stderr
        assert "is ignored" not in done.stdout
        assert server.waiting == []
        assert sorted(server.runs) == ["trial0", "trial1", "trial2"]
        tables = {}
        for folder in folders(tmp_path / "results"):
            tables[json.loads((folder / "summary.json").read_text())["eta"]] = folder / "metrics.parquet"
        assert sorted(tables) == [0.1, 0.2]
        for number, eta in enumerate(etas):
            name = f"trial{number}"
            bucket, history = server.runs[name], server.history[name]
            assert (bucket["sweep"], bucket["project"], server.exits[name]) == ("sweep1", "theirs", 0)
            assert json.loads(bucket["config"])["algo.eta"]["value"] == eta
            rows = pq.read_table(tables[eta]).to_pylist()
            assert [history[t]["val_loss"] for t in sorted(history)] == [row["val_loss"] for row in rows]
        read = loaded(monkeypatch, *(of_server(server, name) for name in server.runs))
        assert {*read.runs} == {*load_folder(tmp_path / "results").runs}


def online(server, tmp_path: Path, script: str, *words: str):
    return command(script, *words, cwd=tmp_path, WANDB_BASE_URL=server.url, WANDB_API_KEY=KEY)


@pytest.mark.thorough
def test_online_runs_go_to_the_server_once(tmp_path):
    with stub("fine") as server:
        done = online(server, tmp_path, "bench/run.py", *SHORT, "engine=stacked", "-m", "seed=0,1")
        assert done.returncode == 0, done.stderr
        assert "W&B" not in done.stdout, done.stdout
        (tmp_path / "results/runs" / folders(tmp_path / "results")[0].name / "wandb.json").unlink()
        assert "1 written (online), 1 " in online(server, tmp_path, "bench/sync.py").stdout
        for folder in folders(tmp_path / "results"):
            history = server.history[folder.name]
            expected = pq.read_table(folder / "metrics.parquet").to_pylist()
            assert sorted(history) == [0, 1, 2, 3]
            for number, row in enumerate(expected):
                assert all(history[number][name] == value for name, value in row.items() if value is not None)
            assert server.exits[folder.name] == 0
            assert json.loads(server.runs[folder.name]["config"])["algo"]["value"] == "dnasa"
        reused = folders(tmp_path / "results")[0].name
        done = online(server, tmp_path, "bench/run.py", *SHORT, "engine=stacked", f"seed={reused.split('-s')[1][0]}")
        assert "done before" in done.stdout
        assert any(tag.startswith("also dataset=digits") for tag in server.runs[reused]["tags"])
        assert len(server.history[reused]) == 4
    for path in (tmp_path / "results").rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.thorough
@pytest.mark.parametrize("behavior", ["slow", "errors", "silent"])
def test_a_server_in_trouble_is_not_the_runs_trouble(behavior, tmp_path):
    with stub(behavior) as server:
        began = time.monotonic()
        done = online(server, tmp_path, "bench/run.py", *SHORT, "engine=stacked")
        seconds = time.monotonic() - began
        assert done.returncode == 0, done.stderr
        assert "done at step 60" in done.stdout
        assert KEY not in done.stdout + done.stderr
        (folder,) = folders(tmp_path / "results")
        assert len(pq.read_table(folder / "metrics.parquet")) == 4
        if behavior == "silent":
            assert f"1 run was {NOT_UPLOADED}" in done.stdout
            assert "bench/sync.py results" in done.stdout
            assert seconds < 30  # the run, the imports, and not the minutes that W&B would wait
    done = command("bench/sync.py", cwd=tmp_path)
    assert "1 written (offline)" in done.stdout
    same(images(tmp_path / "results")[folder.name], folder)


@pytest.mark.thorough
def test_killing_the_tracker_kills_nothing_else(tmp_path):
    words = (*SHORT, "engine=stacked", "steps=4000", "eval_every=100")
    process = command("bench/run.py", *words, cwd=tmp_path, background=True)
    tracker = None
    while tracker is None:
        assert process.poll() is None
        time.sleep(0.05)
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if (
                    b"bench.sweep.tracking.process" in (path / "cmdline").read_bytes()
                    and str(process.pid) in (path / "stat").read_text().split()
                ):
                    tracker = int(path.name)
            except OSError:
                continue
    os.kill(tracker, signal.SIGKILL)
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    assert "done at step 4000" in out
    assert f"1 run was {NOT_UPLOADED}" in out


@pytest.mark.thorough
def test_without_wandb_or_without_room_for_it_runs_are_made(tmp_path):
    broken = tmp_path / "broken"
    (broken / "wandb").mkdir(parents=True)
    (broken / "wandb/__init__.py").write_text("raise ImportError('no wandb here')")
    done = command("bench/run.py", *SHORT, "engine=stacked", cwd=tmp_path, PYTHONPATH=str(broken))
    assert done.returncode == 0, done.stderr
    assert f"1 run was {NOT_UPLOADED} (ImportError: no wandb here)" in done.stdout
    done = command("bench/sync.py", cwd=tmp_path, PYTHONPATH=str(broken))
    assert done.returncode == 2
    assert "no wandb here" in done.stderr
    assert "pip install wandb" in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("size", ["4k", "64k"])  # for the first file, and for a part of the history
def test_a_disk_too_small_for_wandb(size, tmp_path):
    (tmp_path / "results").mkdir()
    words = " ".join([*SHORT, "eval_every=1", "engine=stacked", f"results={tmp_path}/results"])
    clean = "env -u WANDB_MODE HOME=" + str(tmp_path)
    script = f"{clean} '{sys.executable}' '{ROOT}/bench/run.py' {words}; echo exit $?"
    done = on_a_disk(tmp_path / "results" / "wandb", f"size={size}", script)
    assert "exit 0" in done.stdout, done.stdout + done.stderr
    assert "done at step 60" in done.stdout
    assert f"1 run was {NOT_UPLOADED}" in done.stdout
    assert "1 written" in command("bench/sync.py", cwd=tmp_path).stdout
