"""A real SLURM on this machine: arrays of workers, canceled, timed out and preempted."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from bench.store.files import read_json
from tests.helpers import slurm
from tests.helpers.cli import ROOT, Done, typed
from tests.helpers.run_folders import folders, metrics, state

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("slurm"),
    pytest.mark.skipif(slurm.lacking() is not None, reason=f"no SLURM: {slurm.lacking()}"),
]

DATA = ("dataset=synthetic", "dataset.dimension=10", "dataset.evaluation=50")
SHORT = (*DATA, "nodes=4", "steps=200", "eval_every=50", "tracker=none")
LONG = ("dataset=digits", "nodes=4", "batch_size=8", "eval_every=100", "tracker=none")
NEVER = "checkpoint_every=100000"
"""No regular checkpoints: every checkpoint was written because of a signal."""
TWELVE = ("algo=dsgd,dsgt", "algo.eta=0.01,0.03,0.1", "seed=0,1", "engine=stacked", *SHORT)


@pytest.fixture(scope="module")
def queue(tmp_path_factory):
    """Environment variables with which commands find the cluster."""
    with slurm.cluster(tmp_path_factory.mktemp("slurm")) as environment:
        yield environment


def submit(*words: str, queue: dict[str, str], cwd: Path) -> Done:
    return typed(*words, script="bench/submit.py", cwd=cwd, environment=queue)


def status(queue: dict[str, str], cwd: Path) -> str:
    return typed("results", script="bench/status.py", cwd=cwd, environment=queue).stdout


def ask(*command: str, queue: dict[str, str]) -> str:
    done = subprocess.run(command, env=queue, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.strip()


def job_of(results: Path) -> str:
    """The job that was queued last."""
    return read_json(max((results / "queue").glob("*/job.json")))["job"]


def until(what, patience: float = 90.0) -> None:
    deadline = time.monotonic() + patience
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def states(results: Path) -> list[str]:
    return [state(folder)["state"] for folder in folders(results)]


def assert_same(results: Path, words: tuple[str, ...], scratch: Path) -> None:
    """Compare bit for bit with an uninterrupted sweep on this machine."""
    done = typed("-m", *words, f"results={scratch}", cwd=scratch.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    for ours, local in zip(folders(results), folders(scratch), strict=True):
        assert ours.name == local.name
        pd.testing.assert_frame_equal(metrics(ours), metrics(local), check_exact=True)


def starts(folder: Path) -> int:
    """Return how often the run started from its first step."""
    return (folder / "log.txt").read_text().count(" starts: ")


@pytest.mark.parametrize("words", [TWELVE, ("seed=range(4)", "engine=mpi", "ranks=1", *SHORT)], ids=["stacked", "mpi"])
def test_an_array_of_workers_makes_every_run_once(words, queue, tmp_path):
    tmp_path = tmp_path / "50%j of it"  # SLURM replaces %j by the job number
    tmp_path.mkdir()
    asked = submit(*words, "workers=2", "--dry-run", queue=queue, cwd=tmp_path)
    assert asked.returncode == 0, asked.stderr
    assert "by 2 workers." in asked.stdout
    assert "No time estimate" in asked.stdout
    assert "SLURM says: Job" in asked.stdout
    assert list(tmp_path.iterdir()) == []
    done = submit(*words, "workers=2", "--wait", queue=queue, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    results = tmp_path / "results"
    count = len(folders(results))
    assert f"{count} runs: {count} done" in done.stdout
    assert f"[{count}/{count}]" in done.stdout
    assert [starts(folder) for folder in folders(results)] == [1] * count
    assert_same(results, words, tmp_path / "local")
    again = submit(*words, "workers=2", queue=queue, cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, f"{count} configurations, {count} of them done.\n")
    more = submit(*words, "steps=400", "workers=8", "--dry-run", queue=queue, cwd=tmp_path)
    assert "per worker" in more.stdout
    assert len(list((results / "queue").iterdir())) == 1
    assert "Queue" not in status(queue, tmp_path)


def scancel(job: str, queue: dict[str, str]) -> None:
    ask("scancel", job, queue=queue)


def time_is_up(job: str, queue: dict[str, str]) -> None:
    """Send the signal of --signal=B:USR1@SECONDS."""
    ask("scancel", "--signal=USR1", "--batch", f"{job}_0", queue=queue)


def preempt(job: str, queue: dict[str, str]) -> None:
    ask("sbatch", "--partition=urgent", f"--ntasks={slurm.CPUS}", "--output=/dev/null", "--wrap=sleep 1", queue=queue)


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (scancel, ("steps=800", "engine=mpi", "ranks=2")),
        (time_is_up, ("steps=4000", "engine=stacked", "seed=0,1")),
        (preempt, ("steps=4000", "engine=stacked", "seed=0,1")),
    ],
)
def test_workers_resume_after_cancel_timeout_and_preemption(end, how, queue, tmp_path):
    words, results = (*LONG, *how, NEVER), tmp_path / "results"
    assert submit(*words, "workers=1", queue=queue, cwd=tmp_path).returncode == 0
    job, runs = job_of(results), 2 if "seed=0,1" in how else 1
    until(lambda: [s["step"] >= 100 for s in map(read_json, results.glob("runs/*/status.json"))] == [True] * runs)
    assert f"Queue: job {job}, 1 worker: 1 running; {runs} runs left." in status(queue, tmp_path)
    end(job, queue)
    (said,) = (results / "queue").glob(f"*/{job}_0.txt")
    until(lambda: "Interrupted by SIG" in said.read_text())
    if end is scancel:
        until(lambda: "has ended (1 cancelled)" in status(queue, tmp_path))
        assert set(states(results)) == {"interrupted"}
        time.sleep(8)  # longer than a requeued job takes to start
        assert set(states(results)) == {"interrupted"}
        assert submit(*words, "workers=1", "--wait", queue=queue, cwd=tmp_path).returncode == 0
    until(lambda: set(states(results)) == {"done"})
    for folder in folders(results):
        (resumed,) = json.loads((folder / "manifest.json").read_text())["resumed"]
        assert resumed >= 100
        assert starts(folder) == 1
    assert_same(results, words, tmp_path / "local")


def test_wait_includes_runs_of_an_earlier_array(queue, tmp_path):
    words, results = (*LONG, "steps=12000", "engine=stacked"), tmp_path / "results"
    assert submit(*words, "workers=1", queue=queue, cwd=tmp_path).returncode == 0
    until(lambda: list(results.glob("runs/*/metrics.jsonl")))
    done = submit(*words, "workers=1", "--wait", queue=queue, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Queued as job" in done.stdout
    (folder,) = folders(results)
    assert (state(folder)["state"], starts(folder)) == ("done", 1)


def test_interrupting_wait_leaves_the_jobs(queue, tmp_path):
    words = ("workers=1", "--wait", "engine=stacked", *LONG, "steps=100000")
    command = [sys.executable, str(ROOT / "bench/submit.py"), *words]
    watching = subprocess.Popen(command, cwd=tmp_path, env=queue, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        until(lambda: list(tmp_path.glob("results/runs/*/metrics.jsonl")))
        watching.send_signal(signal.SIGINT)
        shown, _ = watching.communicate(timeout=60)
    finally:
        watching.kill()
    assert watching.returncode == 130
    (job,) = re.findall(r"The jobs continue. scancel (\d+) ends them", shown.decode())
    tasks = ("squeue", "--noheader", "--array", "--states=pending,running,completing", f"--jobs={job}")
    assert ask(*tasks, queue=queue)
    ask("scancel", job, queue=queue)
    until(lambda: not ask(*tasks, queue=queue))


def test_reports_errors_of_slurm(queue, tmp_path):
    done = submit("workers=2", "site.partition=nowhere", *SHORT, queue=queue, cwd=tmp_path)
    assert done.returncode == 2
    assert "invalid partition specified: nowhere" in done.stderr
    assert "Queue" not in status(queue, tmp_path)
