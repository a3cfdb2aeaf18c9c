"""Each configuration as a job of its own, through Hydra's submitit launcher and its local executor."""

import json

import pytest

from tests.helpers.cli import run, typed


@pytest.mark.timeout(200)
@pytest.mark.thorough
def test_a_sweep_as_jobs_of_which_one_fails(tmp_path):
    """With an option that the default method lacks."""
    # nobody has the memory for a trillion evaluation samples
    sweep = ("algo=dsgd", "algo.eta=0.05", "dataset.evaluation=50,1000000000000", "nodes=4", "ranks=1", "steps=20")
    done = run("-m", "hydra/launcher=here", *sweep, cwd=tmp_path)
    assert done.returncode == 1
    assert "2 runs: 1 done, 1 failed" in done.stdout  # at the end, the table of all
    assert "Results: results/runs" in done.stdout
    assert "Traceback" not in done.stderr
    summaries = [json.loads(path.read_text()) for path in tmp_path.glob("results/runs/*/summary.json")]
    assert {(s["eta"], s["dataset.evaluation"], s["state"]) for s in summaries} == {
        (0.05, 50, "done"),
        (0.05, 10**12, "failed"),
    }
    (bad,) = [s["run_id"] for s in summaries if s["state"] == "failed"]
    assert f"{bad} failed: " in done.stdout
    assert list(tmp_path.glob("results/submitit/*/*.out"))


def test_jobs_with_an_option_that_the_default_member_lacks(tmp_path):
    lacking = typed("-m", "hydra/launcher=here", "algo=dnasa,dsgt", "algo.eta=0.05", cwd=tmp_path)
    assert lacking.returncode == 2
    assert "algo=dnasa has no option 'algo.eta'" in lacking.stderr
