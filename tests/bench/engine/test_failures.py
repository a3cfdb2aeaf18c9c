"""Failures of ranks, launcher and runner: no command hangs, and no process or shared memory is left."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.base.registry import algorithms
from bench.engine.rank_pool import RanksFailed
from tests.helpers import trouble as trouble_plugin
from tests.helpers.cli import ROOT, run, typed
from tests.helpers.configs import Kept, config
from tests.helpers.mentions import mentions
from tests.helpers.processes import MARK, gone, marked
from tests.messages import KILLED, RESUMES

pytestmark = pytest.mark.timeout(200)
PLUGIN = {"HEARSAY_PLUGINS": "tests.helpers.trouble", "PYTHONPATH": str(ROOT)}
algorithms._items.pop("trouble", None)  # only tests that ask for it register it
LONG = ("algo.how=slow", "steps=100000")
YAML = "name: trouble\nschedule: diminishing\neta: 0.01\nhow: none\n"


@pytest.fixture
def trouble(tmp_path):
    """Command-line words that make Hydra find the failing method."""
    (tmp_path / "conf" / "algo").mkdir(parents=True)
    (tmp_path / "conf" / "algo" / "trouble.yaml").write_text(YAML)
    quick = ("steps=40", "eval_every=5", "dataset=synthetic", "dataset.evaluation=50", "nodes=4", "ranks=2")
    return (f"hydra.searchpath=[file://{tmp_path}/conf]", "algo=trouble", "engine=mpi", *quick)


@pytest.fixture
def mark():
    """A mark for the processes of one test; none may be left."""
    mark = uuid.uuid4().hex
    yield mark
    left = marked(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def statuses(folder: Path) -> dict[str, dict]:
    """By the value of ``how``."""
    out = {}
    for path in (folder / "results" / "runs").iterdir():
        how = json.loads((path / "summary.json").read_text())["how"] if (path / "summary.json").exists() else "?"
        out[how] = {**json.loads((path / "status.json").read_text()), "log": (path / "log.txt").read_text()}
    return out


@pytest.mark.timeout(100)  # less than others of its group, so that it runs last: it ends the ranks that they share
def test_a_failing_rank_ends_all_ranks(ranks, monkeypatch):
    monkeypatch.setitem(algorithms._items, "trouble", trouble_plugin.Trouble)
    with pytest.raises(RanksFailed, match=r"^rank 1: ValueError: the last rank has had enough$"):
        ranks.run(config(algo={"name": "trouble", "how": "raise"}, nodes=4), Kept())
    assert gone(ranks.mark)


@pytest.mark.thorough
def test_the_sweep_continues_after_every_kind_of_failure(trouble, mark, tmp_path):
    words = ("-m", *trouble, "algo.how=raise,exit,none,kill,babble,hang", "engine.timeout_s=3")
    noted = tmp_path / "segments"
    noted.mkdir()
    done = run(*words, cwd=tmp_path, **PLUGIN, **{MARK: mark, "HEARSAY_TEST_SEGMENTS": str(noted)})
    assert done.returncode == 1, done.stderr
    assert gone(mark)
    segments = [Path(name) for path in noted.iterdir() for name in path.read_text().split()]
    assert len(segments) == 6
    assert [path for path in segments if path.exists()] == []  # nothing is left in shared memory
    how = statuses(tmp_path)
    assert {name: status["state"] for name, status in how.items()} == {
        "raise": "failed",
        "exit": "failed",
        "none": "done",
        "kill": "failed",
        "babble": "failed",
        "hang": "failed",
    }
    assert how["raise"]["error"] == "rank 1: ValueError: the last rank has had enough"
    assert 'raise ValueError("the last rank has had enough")' in how["raise"]["log"]  # the traceback
    assert how["raise"]["step"] == 10  # evaluations made before are kept
    assert how["exit"]["error"] == "rank 1: SystemExit: 3"
    assert f"rank 1 {KILLED}" in how["kill"]["error"]
    assert "nonsense" in how["babble"]["error"]
    assert "3 s after step" in how["hang"]["error"]
    assert "time.sleep(1000)" in how["hang"]["log"]  # where the rank was
    assert "failed: rank 1: ValueError" in done.stdout
    assert "Traceback" not in done.stderr


def start(words, mark, folder) -> subprocess.Popen[str]:
    """Start a run, and wait for its first evaluation."""
    command = [sys.executable, str(ROOT / "bench" / "run.py"), *words]
    environment = {**os.environ, **PLUGIN, MARK: mark}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in (folder / "results" / "runs").glob("*/metrics.jsonl")):
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


def ends(process: subprocess.Popen[str], seconds: float) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


@pytest.mark.thorough
def test_interrupting_the_runner(trouble, mark, tmp_path):
    """With Ctrl-C; other signals: test_leaving.py."""
    process = start((*trouble, *LONG), mark, tmp_path)
    process.send_signal(signal.SIGINT)
    code, _, err = ends(process, 25)
    assert code == 130
    assert RESUMES in err
    assert "Traceback" not in err
    assert gone(mark)
    (status,) = statuses(tmp_path).values()
    assert status["state"] == "interrupted"


@pytest.mark.thorough
def test_killing_mpiexec(trouble, mark, tmp_path):
    process = start((*trouble, *LONG), mark, tmp_path)
    (mpiexec,) = (pid for pid in marked(mark, "mpiexec") if b"run.py" not in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(mpiexec, signal.SIGKILL)
    code, out, _ = ends(process, 15)
    assert code == 1
    assert KILLED in out
    assert gone(mark)
    (status,) = statuses(tmp_path).values()
    assert status["state"] == "failed"


@pytest.mark.thorough
def test_killing_the_runner_leaves_no_rank(trouble, mark, tmp_path):
    process = start((*trouble, *LONG), mark, tmp_path)
    assert len(marked(mark, "bench.engine.worker")) >= 2
    process.kill()
    process.communicate()
    assert gone(mark)


STOPS = {"the runner, for longer than TCP waits": ("run.py", 45, 300), "every process": ("", 20, 8)}


@pytest.mark.thorough
@pytest.mark.parametrize(("whom", "seconds", "timeout_s"), STOPS.values(), ids=STOPS)
def test_a_run_survives_a_stop(whom, seconds, timeout_s, mark, tmp_path):
    """As by Ctrl-Z, SIGSTOP or a frozen container, while it evaluates at every step."""
    words = ["steps=800", "eval_every=1", "nodes=4", "ranks=2", "tracker=none", f"engine.timeout_s={timeout_s}"]
    assert run(*words, "results=whole", cwd=tmp_path).returncode == 0
    process = start(("engine=mpi", *words), mark, tmp_path)
    stopped = marked(mark, whom)
    assert len(stopped) == 1 or (not whom and len(stopped) > 3)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in stopped:
            os.kill(pid, number)
        time.sleep(seconds if number == signal.SIGSTOP else 0)
    code, out, _ = ends(process, 60)
    assert code == 0, out
    tables = [pq.read_table(next((tmp_path / name).glob("runs/*/metrics.parquet"))) for name in ("whole", "results")]
    same = [name for name in tables[0].column_names if not name.endswith("_s")]
    assert tables[0].select(same).equals(tables[1].select(same))
    assert gone(mark)


@pytest.mark.thorough
def test_rejects_a_launcher_of_another_mpi_library(trouble, mark, tmp_path):
    fake = tmp_path / "fake_mpiexec"
    fake.write_text('#!/bin/sh\nshift 2\n"$@" &\n"$@" &\nwait\n')
    fake.chmod(0o755)
    done = run(*trouble, f"engine.launch=[{fake}]", cwd=tmp_path, **PLUGIN, **{MARK: mark})
    assert done.returncode == 1
    assert "1 ranks instead of 2" in done.stdout
    assert gone(mark)


@pytest.mark.thorough
def test_reports_exit_code_and_output_of_a_failing_launcher(tmp_path):
    fake = tmp_path / "fake_mpiexec"
    fake.write_text("#!/bin/sh\necho no queue for you\nexit 5\n")
    fake.chmod(0o755)
    done = typed(f"engine.launch=[{fake}]", "ranks=2", "steps=10", cwd=tmp_path)
    assert done.returncode == 1
    assert mentions(done.stdout, "exit code 5", "2 ranks")
    (log,) = (tmp_path / "results" / "runs").glob("*/log.txt")
    assert "no queue for you" in log.read_text()
