"""The W&B report and the way back from W&B, against a server on this machine's loopback."""

import json
from pathlib import Path

import pandas as pd
import pytest

from analysis import load
from bench.store.files import read_json
from bench.store.record import FACTS
from bench.store.software import software
from tests.helpers import sweeps
from tests.helpers.cli import Done, python
from tests.helpers.wandb_api import Api, api

pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("w&b report")]


@pytest.fixture(scope="module")
def folder(folder, tmp_path_factory) -> Path:
    return sweeps.copied(folder, tmp_path_factory.mktemp("results"), "few", "untuned")


@pytest.fixture(scope="module")
def uploaded(folder):
    """A server that was given these runs."""
    with api() as server:
        done = python("bench/sync.py", str(folder), cwd=folder, **to(server))
        assert done.returncode == 0, done.stderr
        yield server


def to(server: Api, key: str = Api.known) -> dict[str, str]:
    return {
        "WANDB_BASE_URL": server.url,
        "WANDB_API_KEY": key,
        "WANDB_MODE": "online",
        "WANDB_ERROR_REPORTING": "false",
    }


def report(results: Path | str, *words: str, cwd: Path, **environment: str) -> Done:
    return python("analysis/make_report.py", "--results", str(results), *words, cwd=cwd, **environment)


def test_a_report_is_created(folder, uploaded):
    done = report(folder, "--wandb", "me/hearsay", cwd=folder, **to(uploaded))
    assert done.returncode == 0, done.stderr
    assert "W&B report created: http" in done.stdout
    (view,) = uploaded.views.values()
    spec = json.loads(view["spec"])
    grids = [block for block in spec["blocks"] if block["type"] == "panel-grid"]
    sets = grids[0]["metadata"]["runSets"]
    assert [item["name"] for item in sets] == ["complete", "ring"]
    assert [key["name"] for key in sets[0]["grouping"]] == ["algo.value", "eta.value"]
    assert {"section": "config", "name": "topology"} in [item["key"] for item in sets[0]["filters"]["filters"]]
    lines = grids[0]["metadata"]["panelBankSectionConfig"]["panels"]
    assert [panel["config"]["metrics"] for panel in lines] == [
        ["test_accuracy"],
        ["train_loss"],
        ["grad_norm"],
        ["consensus"],
    ]
    assert {panel["config"]["xAxis"] for panel in lines} == {"epoch"}
    assert {panel["config"]["groupArea"] for panel in lines} == {"minmax"}
    (scatter,) = grids[1]["metadata"]["panelBankSectionConfig"]["panels"]
    assert scatter["viewType"] == "Scatter Plot"
    assert (scatter["config"]["xAxis"], scatter["config"]["xAxisLogScale"]) == ("config:eta.value", True)
    text = json.dumps(spec)
    run = next(iter(uploaded.runs))
    assert f"/me/hearsay/runs/{run}" in text
    assert "Sensitivity to the stepsize" in text


def test_what_was_sent_comes_back_as_the_same_results_and_the_report_is_updated(
    folder, uploaded, tmp_path, monkeypatch
):
    here = load(folder)
    for name, value in to(uploaded).items():
        monkeypatch.setenv(name, value)
    from analysis.results.read import read

    back = read("wandb:me/hearsay")
    assert set(back.runs["run_id"]) == set(here["run_id"])
    assert set(back.runs["state"]) == {"done", "nonfinite"}
    assert not set(FACTS) & set(back.runs.columns)
    for run in back.runs["run_id"]:
        assert software(back.facts[run]) == software(read_json(folder / "runs" / run / "manifest.json")) != {}
    merged = here.merge(back.rows, on=["run_id", "step"], suffixes=("", "_back"))
    assert len(merged) == len(here) == len(back.rows)
    for metric in ("test_accuracy", "train_loss", "consensus"):
        pd.testing.assert_series_equal(merged[metric], merged[f"{metric}_back"], check_names=False, check_dtype=False)
    for word in ["created", "updated"][len(uploaded.views) :]:  # there is one, where the test above was run
        done = report("wandb:me/hearsay", "--wandb", "me/hearsay", cwd=tmp_path, **to(uploaded))
        assert done.returncode == 0, done.stderr
        assert f"W&B report {word}: http" in done.stdout
        assert len(uploaded.views) == 1
    page = (tmp_path / "report.html").read_text()
    assert 'id="figure-stepsize"' in page
    assert 'id="figure-graphs"' in page
    assert 'id="table-methods"' in page


@pytest.fixture(scope="module")
def fewer(folder, tmp_path_factory) -> Path:
    return sweeps.copied(folder, tmp_path_factory.mktemp("fewer"), "untuned")


@pytest.mark.parametrize("kind", ["wrong key", "unreachable", "errors", "no key", "empty mode"])
def test_w_and_b_may_fail_and_the_page_is_still_made(fewer, uploaded, tmp_path, kind):
    environment = to(uploaded, "x" * 40 if kind == "wrong key" else Api.known)
    if kind == "unreachable":
        environment["WANDB_BASE_URL"] = "http://127.0.0.1:9"
    if kind in ("no key", "empty mode"):
        mode = "offline" if kind == "no key" else ""
        environment |= {"WANDB_API_KEY": "", "WANDB_MODE": mode, "HOME": str(tmp_path)}
    uploaded.behavior = "errors" if kind == "errors" else "fine"
    try:
        done = report(fewer, "--wandb", "me/hearsay", "--out", "page.html", cwd=tmp_path, **environment)
    finally:
        uploaded.behavior = "fine"
    assert (tmp_path / "page.html").stat().st_size > 100_000
    assert "Traceback" not in done.stderr
    said = done.stdout + done.stderr
    assert "specification is in" in said
    assert json.loads((tmp_path / "wandb_report.json").read_text())["blocks"]
    if kind in ("no key", "empty mode"):
        assert done.returncode == 0
        assert "wandb login" in said
    else:
        assert done.returncode == 1
        assert "was not published" in said
    assert Api.known not in said


def test_no_project_and_nobody_there():
    done = python("analysis/make_figures.py", "--results", "wandb:nonsense", cwd=Path.cwd())
    assert done.returncode == 2
    assert "ENTITY/PROJECT" in done.stderr
    done = python(
        "analysis/make_report.py", "--from", "wandb:me/x", cwd=Path.cwd(), WANDB_BASE_URL="http://127.0.0.1:9"
    )
    assert done.returncode == 2
    assert "cannot be reached" in done.stderr
    done = python("analysis/make_report.py", "--wandb", "me", cwd=Path.cwd())
    assert done.returncode == 2
    assert "got 'me'" in done.stderr
