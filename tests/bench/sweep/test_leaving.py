"""Asked to leave by a signal, a sweep writes down where every run stands, and later goes on from there."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from bench.base.preemption import Preempted
from bench.store.files import check_rows, read_json
from bench.store.run_folder import RunFolder
from bench.sweep.sweep import run_all
from bench.sweep.workers import Executor
from bench.training import checkpoint
from tests.helpers.claims import QUIET
from tests.helpers.cli import ROOT, typed
from tests.helpers.configs import config
from tests.helpers.processes import MARK, gone
from tests.helpers.run_folders import folders, metrics, state
from tests.messages import RESUMES

LONG = ("dataset=digits", "nodes=4", "batch_size=8", "eval_every=300", "tracker=none", "checkpoint_every=100000")
HOW = {
    "mpi": ("engine=mpi", "ranks=2", "steps=900"),
    "stacked": ("engine=stacked", "seed=0,1", "steps=2000"),
    "jobs": ("engine=stacked", "algo=dnasa,dsgt", "jobs=2", "steps=2000"),
}


def started(words: tuple[str, ...], results: Path) -> subprocess.Popen[str]:
    """The command, when its runs have made some steps."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "bench/run.py"), "-m", *words, f"results={results}"],
        cwd=results,
        env={**os.environ, MARK: str(results)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        there = folders(results) if (results / "runs").exists() else []
        under_way = [read_json(folder / "status.json").get("step", 0) for folder in there]
        if under_way and min(under_way) >= 300:
            time.sleep(0.1)  # some steps beyond the evaluation
            return process
        time.sleep(0.02)
    raise AssertionError(process.communicate(timeout=20)[0])


@pytest.mark.parametrize("reason", [Preempted, KeyboardInterrupt])
def test_a_full_disk_does_not_hide_that_a_sweep_was_interrupted(reason, tmp_path, monkeypatch):
    c = config(results=str(tmp_path))

    def leave(*words):
        raise reason

    def full(folder):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Executor, "_compute", leave)
        patch.setattr(RunFolder, "interrupt", full)
        with pytest.raises(reason):
            run_all([c], QUIET)
    assert run_all([c], QUIET) == 0


@pytest.mark.thorough
@pytest.mark.timeout(200)
@pytest.mark.xdist_group("mpi")
def test_ranks_of_a_stopped_runner_keep_a_checkpoint_to_resume_from(tmp_path):
    words = ("dataset=digits", "nodes=4", "batch_size=8", "tracker=none", "engine=mpi", "ranks=2")
    process = started((*words, "steps=100000", "eval_every=50", "checkpoint_every=100"), tmp_path)
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(4)
    process.kill()
    process.communicate(timeout=20)
    assert gone(str(tmp_path))
    (folder,) = folders(tmp_path)
    recorded = check_rows(folder / "metrics.jsonl")[0][-1]["step"]
    assert min(checkpoint.steps(folder / "checkpoint", 4)) <= recorded


@pytest.mark.thorough
@pytest.mark.timeout(200)
@pytest.mark.xdist_group("mpi")
@pytest.mark.parametrize(
    ("how", "number"), [("mpi", signal.SIGTERM), ("stacked", signal.SIGUSR1), ("jobs", signal.SIGUSR2)]
)
def test_a_signal_loses_no_step(how, number, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    words = (*LONG, *HOW[how])
    process = started(words, here)
    os.kill(process.pid, number)
    said = process.communicate(timeout=20)[0]
    assert process.returncode == 128 + number, said
    assert f"Interrupted by {number.name}" in said
    assert RESUMES in said
    assert "Traceback" not in said
    assert gone(str(here))
    stopped = {}
    for folder in folders(here):
        assert state(folder)["state"] == "interrupted"
        stopped[folder.name] = max(int(path.name.partition(".")[0]) for path in (folder / "checkpoint").iterdir())
    assert min(stopped.values()) >= 300
    assert any(step % 300 for step in stopped.values()), stopped  # not only where it would have stopped by itself
    for results in (here, there):
        done = typed("-m", *words, f"results={results}", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    for a, b in zip(folders(here), folders(there), strict=True):
        pd.testing.assert_frame_equal(metrics(a), metrics(b), check_exact=True)
        assert json.loads((a / "manifest.json").read_text())["resumed"]


def test_a_sweep_ends_well_without_its_current_directory(tmp_path):
    """The results lie elsewhere; a command that starts there says what is wrong."""
    place = tmp_path / "cd"
    place.mkdir()
    script = (
        "import os, sys; from pathlib import Path\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from bench.sweep.workers import Executor\n"
        "from bench.run import main\n"
        "end = Executor._end\n"
        "def leaving(self, *words, **more):\n"
        "    end(self, *words, **more)\n"
        f"    Path({str(place)!r}).rmdir()\n"
        "Executor._end = leaving\n"
        "code = main()\n"
        "print('code', code, 'then', main())\n"
    )
    words = ["algo=dsgd", "steps=5", "nodes=3", "engine=stacked", "tracker=none", "results=../r"]
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=100)
    assert done.stdout.splitlines()[-1] == "code 0 then 2", done.stdout + done.stderr
    assert "Results: ../r/runs" in done.stdout
    assert "current directory was deleted" in done.stderr
