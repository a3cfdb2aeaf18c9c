"""Two runs of other settings whose run_id is the same: neither is taken for the other."""

import json
import re
import shutil

import pytest

from bench.base.errors import UserError
from bench.config.compose import compose_one
from bench.config.distinct import unique
from bench.store.files import write_json
from bench.store.stored_run import IDENTITY, has_another
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


def test_a_run_of_an_earlier_version_is_told_by_its_numbers(made, tmp_path):
    shutil.copytree(made / "results", tmp_path / "results")
    file = tmp_path / "results" / "runs" / NAME / "manifest.json"
    manifest = json.loads(file.read_text())
    assert manifest.pop(IDENTITY).startswith(NAME.rpartition("-")[2])
    write_json(file, manifest)
    done = run(*WORDS, SECOND, "stale=keep", cwd=tmp_path)
    assert (done.returncode, "eta=0.047965" in done.stderr) == (2, True)
    assert run(*WORDS, FIRST, "engine.memory_gb=2", cwd=tmp_path).stdout.count("done before") == 1


def test_a_copy_under_another_name_is_damaged_as_before(made, tmp_path):
    shutil.copytree(made / "results", tmp_path / "results")
    folder = tmp_path / "results" / "runs" / NAME
    folder.rename(folder.with_name(NAME.replace("-s0-", "-s1-")))
    other = compose_one([*WORDS, FIRST, f"results={tmp_path / 'results'}"])
    assert not has_another(folder.with_name(NAME.replace("-s0-", "-s1-")), other)


def test_an_archive_has_one_of_the_two(made, tmp_path):
    other = run(*WORDS, SECOND, f"results={tmp_path / 'other'}", cwd=tmp_path)
    assert other.returncode == 0
    one, two, archive = str(made / "results"), str(tmp_path / "other"), str(tmp_path / "archive")
    assert python("analysis/archive.py", one, archive).returncode == 0
    for sources in ([two], [one, two]):
        done = python("analysis/archive.py", *sources, archive)
        assert done.returncode == 2
        assert NAME in done.stderr
    assert python("analysis/archive.py", one, archive).returncode == 0
