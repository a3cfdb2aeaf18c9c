"""Each configuration as a job of its own, through Hydra's submitit launcher and its local executor."""

import json

import pytest

from tests.bench.cli import run


@pytest.mark.timeout(200)
@pytest.mark.thorough
def test_a_sweep_as_jobs_of_which_one_fails(tmp_path):
    # nobody has the memory for a trillion evaluation samples
    sweep = ("dataset.evaluation=50,1000000000000", "nodes=4", "ranks=2", "steps=20")
    done = run("-m", "hydra/launcher=here", *sweep, cwd=tmp_path)
    assert done.returncode == 2
    assert "failed; its log says why." in done.stderr
    assert "Traceback" not in done.stderr
    summaries = [json.loads(path.read_text()) for path in tmp_path.glob("results/runs/*/summary.json")]
    assert {(s["dataset.evaluation"], s["state"]) for s in summaries} == {(50, "done"), (10**12, "failed")}
    assert list(tmp_path.glob("results/submitit/*/*.out"))
