"""Variables and folders of W&B are used, or rejected with a sentence; no run is lost in silence."""

import os

import pytest

from bench.base.account import base_url, ignored, mode
from bench.base.errors import UserError
from bench.store.run_folder import RunFolder
from bench.sweep.sweep import about_done
from tests.bench.sweep.tracking.test_wandb import AGENTS, SHORT, command
from tests.helpers.configs import config
from tests.helpers.mentions import mentions
from tests.helpers.run_folders import folders
from tests.helpers.wandb_files import images
from tests.messages import NOT_UPLOADED

WORDS = (*SHORT, "engine=stacked")


@pytest.mark.parametrize("script", ["bench/run.py", "bench/sync.py"])
def test_rejects_a_mode_that_wandb_does_not_have(script, tmp_path):
    (tmp_path / "results/runs").mkdir(parents=True)
    words = WORDS if script == "bench/run.py" else ()
    done = command(script, *words, cwd=tmp_path, WANDB_MODE="onlin")
    assert (done.returncode, "got 'onlin'" in done.stderr) == (2, True), done.stderr
    assert not list(tmp_path.glob("results/runs/*"))


def test_modes_of_earlier_versions_have_their_present_names(monkeypatch):
    for given, known in {"dryrun": "offline", "run": "online", "shared": "shared"}.items():
        monkeypatch.setenv("WANDB_MODE", given)
        assert mode() == known
    monkeypatch.setenv("WANDB_MODE", "Offline")
    with pytest.raises(UserError, match="'Offline'"):
        mode()


def test_the_reason_is_said_when_wandb_rejects_a_variable(tmp_path):
    done = command("bench/run.py", *WORDS, cwd=tmp_path, WANDB_PROJECT="a/b")
    assert done.returncode == 0, done.stderr
    assert mentions(done.stdout, f"1 run was {NOT_UPLOADED} (UsageError", "'a/b'")


def test_jobs_say_what_they_ignore_and_reject_an_agent(tmp_path):
    words = ("bench/submit.py", "--dry-run", *WORDS)
    done = command(*words, "seed=0", cwd=tmp_path, WANDB_NAME="mine")
    assert done.returncode == 0, done.stderr
    assert "WANDB_NAME is ignored" in done.stderr
    done = command(*words, "seed=1", cwd=tmp_path, **AGENTS)
    assert (done.returncode, "`wandb agent`" in done.stderr) == (2, True), done.stderr


def test_a_finished_run_names_ignored_variables_and_keeps_its_copy_when_wandb_is_disabled(tmp_path):
    assert command("bench/run.py", *WORDS, cwd=tmp_path).returncode == 0
    given = {"WANDB_NAME": "mine", "WANDB_TAGS": "a", "WANDB_PROJECT": "theirs", "WANDB_NOTES": ""}
    for script, words in {"bench/run.py": (*WORDS, "tracker=wandb"), "bench/sync.py": ()}.items():
        (line,) = (
            line for line in command(script, *words, cwd=tmp_path, **given).stdout.splitlines() if "1 run:" in line
        )
        assert {"WANDB_PROJECT", "WANDB_TAGS"} <= {*line.replace(",", "").split()}
        assert ("WANDB_NAME" in line) == (script == "bench/run.py")  # bench/sync.py names it with the reason
        assert "WANDB_NOTES" not in line
    (run,) = folders(tmp_path / "results")
    (run / "wandb.json").unlink()
    assert command("bench/sync.py", cwd=tmp_path, WANDB_MODE="disabled").returncode == 2
    assert list(images(tmp_path / "results")) == [run.name]
    assert not (run / "wandb.json").exists()


def test_only_tracked_runs_ignore_variables(monkeypatch):
    for name in ("WANDB_NAME", "WANDB_TAGS", "WANDB_PROJECT", "WANDB_NOTES"):
        monkeypatch.delenv(name, raising=False)
    untracked, tracked = (RunFolder(config(tracker=name)) for name in ("none", "wandb"))
    assert about_done([tracked], alone=True) == []  # no variable is set
    monkeypatch.setenv("WANDB_TAGS", "a")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    assert len(about_done([tracked], alone=True)) == 1
    assert about_done([untracked], alone=True) == about_done([], alone=True) == []


def test_an_empty_mode_a_foreign_service_and_a_hidden_link_change_nothing(tmp_path, monkeypatch):
    """W&B would write to results/.wandb if there is one; a folder of that name is tested in test_wandb.py."""
    assert "WANDB_SERVICE" in ignored(alone=True) & ignored(alone=False)
    hidden, elsewhere = tmp_path / "results/.wandb", tmp_path / "elsewhere"
    elsewhere.mkdir()
    hidden.parent.mkdir()
    hidden.symlink_to(elsewhere)
    done = command("bench/run.py", *WORDS, cwd=tmp_path, WANDB_MODE="", WANDB_SERVICE="3-1-tcp-localhost-1-1")
    assert (done.returncode, NOT_UPLOADED in done.stdout) == (0, False), done.stdout
    assert len(images(tmp_path / "results")) == 1
    assert not list(hidden.iterdir())
    monkeypatch.setenv("WANDB_MODE", "")
    assert base_url().startswith("http")
    assert "WANDB_MODE" not in os.environ
