"""Each configuration as a job of its own, through Hydra's submitit launcher and its local executor."""

import json

import pytest

from tests.bench.cli import run

QUICK = ("nodes=4", "ranks=2", "steps=20", "dataset.evaluation=50")


@pytest.mark.timeout(200)
def test_a_sweep_as_jobs(tmp_path):
    words = ("-m", "hydra/launcher=here", "algo=dnasa,dsgt", *QUICK)
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summaries = [json.loads(path.read_text()) for path in tmp_path.glob("results/runs/*/summary.json")]
    assert {(s["algo"], s["state"]) for s in summaries} == {("dnasa", "done"), ("dsgt", "done")}
    assert list(tmp_path.glob("results/submitit/*/*.out"))


@pytest.mark.timeout(200)
def test_a_job_that_fails_is_not_silent(tmp_path):
    words = ("-m", "hydra/launcher=here", "dataset.evaluation=1000000000000", "steps=20", "engine=stacked")
    done = run(*words, cwd=tmp_path)
    assert done.returncode != 0
    (status,) = (json.loads(path.read_text()) for path in tmp_path.glob("results/runs/*/status.json"))
    assert status["state"] == "failed"
