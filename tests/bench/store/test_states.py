"""What a run is called at its end."""

import json

import pytest

from bench.store.record import DIVERGING_FROM, FINAL, STATES, final_state
from tests.helpers.cli import ROOT, typed


@pytest.mark.parametrize(
    ("first", "last", "state"),
    [
        (2.0, 2.0 * (1 + DIVERGING_FROM) - 1e-9, "done"),
        (2.0, 2.0 * (1 + DIVERGING_FROM) + 1e-9, "diverging"),
        (2e-9, 1e-6, "diverging"),
        (-2.0, -2.0 + 2 * DIVERGING_FROM, "done"),
        (-2.0, -1.9 + 2 * DIVERGING_FROM, "diverging"),
        (2.0, -1e9, "done"),
        (0.0, 1.0, "done"),
    ],
)
def test_a_loss_that_rose_a_hundredfold_is_no_success(first, last, state):
    rows = [{"train_loss": first}, {"train_loss": 1e30}, {"train_loss": last}]
    assert final_state("done", rows) == state
    assert final_state("nonfinite", rows) == "nonfinite"


def test_docs_results_defines_every_state():
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    assert all(f"| `{state}` | {meaning} |" in page for state, meaning in STATES.items())
    assert set(FINAL) < set(STATES)


def test_a_run_whose_loss_exploded_says_so_and_is_a_result(tmp_path):
    words = ("-m", "algo=dsgd", "algo.schedule=constant", "algo.eta=0.03,3.0", "steps=20", "engine=stacked")
    done = typed(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    states = [json.loads(path.read_text())["state"] for path in tmp_path.glob("results/runs/*/status.json")]
    assert sorted(states) == ["diverging", "done"]
    assert "diverging at step 20" in done.stdout
    assert "diverging before" in typed(*words, cwd=tmp_path).stdout
    assert "1 done, 1 diverging" in typed("results", cwd=tmp_path, script="bench/status.py").stdout
