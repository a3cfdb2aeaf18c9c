"""Where W&B runs are written, and which ones are up to date."""

import os

import pytest

from bench.sweep.tracking import wandb_run
from bench.sweep.tracking.wandb_run import WandbMirror
from tests.bench.sweep.tracking.test_variables import WORDS
from tests.bench.sweep.tracking.test_wandb import command
from tests.helpers.run_folders import folders


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    place = tmp_path_factory.mktemp("mirror")
    assert command("bench/run.py", *WORDS, "tracker=none", cwd=place).returncode == 0
    return place / "results"


@pytest.mark.parametrize("place", ["", "wandb"])
def test_rejects_a_results_folder_that_wandb_cannot_write_to(place, results, monkeypatch):
    """W&B would write to the temporary folder."""
    access, closed = os.access, results / place
    monkeypatch.setattr(os, "access", lambda path, how: access(path, how) and (path != closed or not how & os.W_OK))
    monkeypatch.setattr(wandb_run.wandb, "init", lambda **options: pytest.fail("W&B was started"))
    (run,) = folders(results)
    with pytest.raises(PermissionError, match=str(closed)):
        WandbMirror(run, "hearsay", None)
    assert not (run / wandb_run.MARK).exists()
