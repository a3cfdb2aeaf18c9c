"""bench/submit.py --wait, with a queue that another command is faster than."""

import sys

import pytest

from bench import submit
from bench.store.files import read_json, write_json
from bench.sweep.cluster.order import work
from tests.helpers.run_folders import folders

SMALL = ["algo=dsgd", "nodes=4", "steps=5", "engine=stacked", "tracker=none"]


@pytest.mark.parametrize(
    ("words", "fingerprint", "code"),
    [([], None, 0), ([], "0123", 1), (["stale=rerun"], "0123", 1), (["stale=keep"], "0123", 0)],
    ids=["same", "other", "rerun", "keep"],
)
def test_wait_names_the_runs_of_another_source(tmp_path, monkeypatch, capsys, words, fingerprint, code):
    def finished(job, order, runs, console):
        assert work(order) == 0
        (path,) = folders(tmp_path)
        made = read_json(path / "manifest.json")
        write_json(path / "manifest.json", {**made, "fingerprint": fingerprint or made["fingerprint"]})

    monkeypatch.setattr(submit, "send", lambda *_: ("17", tmp_path / "queue"))
    monkeypatch.setattr(submit, "wait_for", finished)
    monkeypatch.setattr(sys, "argv", ["submit.py", *SMALL, *words, f"results={tmp_path}", "workers=1", "--wait"])
    assert submit.main() == code
    said = capsys.readouterr().out
    assert (f"{folders(tmp_path)[0].name} was" in said) == bool(code)
