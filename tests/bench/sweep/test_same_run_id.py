"""Two runs of other settings whose run_id is the same: neither is taken for the other."""

import json
import re
import shutil

import pytest

from bench.base.errors import UserError
from bench.config.compose import compose_one
from bench.config.distinct import unique
from bench.store.stored_run import IDENTITY
from tests.helpers.cli import python, run

WORDS = ("algo=dsgt", "steps=200", "eval_every=100", "engine=stacked", "tracker=none")
FIRST, SECOND = "algo.eta=0.047965", "algo.eta=0.314473"
NAME = "dsgt-ring-digits-s0-e3b92057"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the first run, and its losses."""
    folder = tmp_path_factory.mktemp("made")
    assert run(*WORDS, FIRST, cwd=folder).returncode == 0
    return folder


def test_a_sweep_of_both_is_refused():
    pair = [compose_one([*WORDS, eta]) for eta in (FIRST, SECOND)]
    assert [config.run_id for config in pair] == [NAME, NAME]
    assert pair[0].identity != pair[1].identity
    with pytest.raises(UserError, match=r"eta=0\.047965.*eta=0\.314473"):
        unique(pair)
    assert unique([pair[0], pair[0]]) == [pair[0]]


@pytest.mark.parametrize("more", [(), ("force=true",), ("stale=keep",), ("stale=rerun",)])
def test_the_stored_run_is_neither_used_nor_replaced(more, made):
    folder = made / "results" / "runs" / NAME
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = run(*WORDS, SECOND, *more, cwd=made)
    assert done.returncode == 2
    assert re.search(r"eta=0\.047965.*eta=0\.314473", done.stderr)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    assert run(*WORDS, FIRST, cwd=made).stdout.count("done before") == 1


def test_status_does_not_show_the_other_run(made):
    assert "1 done" in python("bench/status.py", *WORDS, FIRST, cwd=made).stdout
    assert "1 missing" in python("bench/status.py", *WORDS, SECOND, cwd=made).stdout


def test_runs_of_earlier_versions_and_copies_are_read_as_before(made, tmp_path):
    """They have no hash of all settings, or that of another folder."""
    shutil.copytree(made / "results", tmp_path / "results")
    folder = tmp_path / "results" / "runs" / NAME
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest[IDENTITY].startswith(NAME.rpartition("-")[2])
    copied = folder.rename(folder.with_name("dsgt-ring-digits-s1-" + NAME.rpartition("-")[2]))
    done = python("bench/status.py", *WORDS, FIRST, "seed=1", cwd=tmp_path)
    assert done.returncode == 0
    assert copied.exists()
