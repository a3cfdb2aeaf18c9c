"""Where W&B runs are written, and which ones are up to date."""

import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import sync
from bench.store.files import read_json, upload_lock_of, write_json
from bench.store.run_folder import RunFolder
from bench.sweep.sweep import about_done
from bench.sweep.tracking import process, wandb_run
from bench.sweep.tracking.mark import MARK, PLACE, WRITER, others, writer
from bench.sweep.tracking.wandb_run import Busy, WandbMirror, current, up_to_date
from tests.bench.sweep.tracking.test_variables import WORDS
from tests.bench.sweep.tracking.test_wandb import command
from tests.helpers.configs import config
from tests.helpers.run_folders import folders
from tests.helpers.wandb_files import images


@pytest.mark.parametrize("place", ["", "wandb"])
def test_rejects_a_results_folder_that_wandb_cannot_write_to(place, tmp_path, monkeypatch):
    """W&B would write to the temporary folder."""
    access, closed = os.access, tmp_path / place
    monkeypatch.setattr(os, "access", lambda path, how: access(path, how) and (path != closed or not how & os.W_OK))
    monkeypatch.setattr(wandb_run, "examine", lambda folder: SimpleNamespace(damaged=None, labels={}))
    with pytest.raises(PermissionError, match=str(closed)):
        WandbMirror(tmp_path / "runs/a", "hearsay", None)


def test_one_process_at_a_time_writes_the_wandb_run_of_a_run(tmp_path, monkeypatch):
    run, begun = tmp_path / "runs/a", []
    run.mkdir(parents=True)
    monkeypatch.setattr(WandbMirror, "_begin", lambda *_: begun.append(1))
    first = WandbMirror(run, "hearsay", None)
    with pytest.raises(Busy, match=str(os.getpid())):
        WandbMirror(run, "hearsay", None)
    assert begun == [1]
    first.release()
    WandbMirror(run, "hearsay", None).release()
    assert begun == [1, 1]


@pytest.mark.parametrize(("method", "fails"), [("update", "_update"), ("finish", "_update"), ("update", "_begin")])
def test_an_error_ends_the_lock_of_a_wandb_run(method, fails, tmp_path, monkeypatch, new_lock):
    run = tmp_path / "runs/a"
    run.mkdir(parents=True)
    monkeypatch.setattr(WandbMirror, "_begin", lambda *_: None)
    monkeypatch.setattr(WandbMirror, fails, lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        getattr(WandbMirror(run, "hearsay", None), method)()
    assert not new_lock(upload_lock_of(run)).held()


def test_the_tracker_tries_again_when_another_process_has_ended(monkeypatch, capsys):
    """A run that begins twice is released first."""
    events, others = [], [1, 1]

    class Mirror:
        def __init__(self, folder, *_):
            if others:
                others.pop()
                raise Busy
            events.append(f"begin {folder}")

        def update(self): ...

        def release(self):
            events.append("release")

        def finish(self):
            events.append("finish")

    batches = [[{"run": "a", "live": True}], [], [], [{"run": "a", "live": True}], [{"run": "a", "end": True}]]
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setattr("sys.argv", ["process", "hearsay", "", "{}"])
    monkeypatch.setattr(process, "stand_back", lambda: None)
    monkeypatch.setattr(process.Messages, "open", property(lambda _: bool(batches), lambda *_: None), raising=False)
    monkeypatch.setattr(process.Messages, "wait", lambda _: batches.pop(0))
    monkeypatch.setattr(wandb_run, "warm_up", lambda: None)
    monkeypatch.setattr(wandb_run, "WandbMirror", Mirror)
    process.main()
    assert events == ["begin a", "release", "begin a", "finish"]
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert said == [{"ready": "online"}, {"alive": True}, {"run": "a"}]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_offline_run_is_up_to_date_if_there_is_one_folder(number, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    run = tmp_path / "runs/a"
    run.mkdir(parents=True)
    write_json(run / MARK, current(run))
    for second in range(number):
        (tmp_path / f"wandb/offline-run-20261119_06171{second}-a").mkdir(parents=True)
    assert up_to_date(run) == (number == 1)


def test_sync_skips_a_run_that_another_process_uploads(tmp_path, monkeypatch, capsys, new_lock):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr("sys.argv", ["sync.py", str(tmp_path)])
    monkeypatch.setattr(sync, "PATIENCE_S", 0)
    run = tmp_path / "runs/a"
    run.mkdir(parents=True)
    (run / "summary.json").touch()
    (tmp_path / "wandb" / "offline-run-20261119_061718-a").mkdir(parents=True)
    assert new_lock(upload_lock_of(run)).take()
    assert sync.main() == 1
    out = capsys.readouterr().out
    assert f"process {os.getpid()} " in out
    assert "0 failed, 1 skipped" in out
    assert list((tmp_path / "wandb").iterdir())


@pytest.mark.thorough
def test_two_syncs_at_once_write_every_run_once(tmp_path):
    words = (*WORDS, "-m", "seed=0,1,2", "tracker=none")
    assert command("bench/run.py", *words, cwd=tmp_path).returncode == 0
    both = [command("bench/sync.py", cwd=tmp_path, background=True) for _ in range(2)]
    ended = [(*process.communicate(timeout=90), process.returncode) for process in both]
    assert [code for *_, code in ended] == [0, 0], ended
    assert sum(int(out.partition(" written")[0].split()[-1]) for out, *_ in ended) == 3
    assert len(images(tmp_path / "results")) == 3


def test_a_run_in_another_project_is_not_up_to_date(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "online")
    run = tmp_path / "runs/a"
    run.mkdir(parents=True)
    older = current(run)
    for mark, asked, expected in [
        (older, {}, True),
        (older, {"project": "b", "entity": "team"}, True),
        ({**older, "project": "a", "entity": None}, {}, True),
        ({**older, "project": "a", "entity": None}, {"project": "a"}, True),
        ({**older, "project": "a", "entity": None}, {"project": "b"}, False),
        ({**older, "project": "a", "entity": None}, {"project": "a", "entity": "team"}, False),
        ({**older, "project": "a", "entity": "team"}, {"entity": "team"}, True),
        ({**older, "state": "done", "project": "a", "entity": "team"}, {}, False),
        ({**older, WRITER: "ada@far"}, {}, True),
    ]:
        write_json(run / MARK, mark)
        assert up_to_date(run, **asked) == expected, (mark, asked)


def test_marks_of_others_are_counted_by_their_writers(tmp_path):
    runs = [tmp_path / name for name in "abcd"]
    for run, mark in zip(runs, [{}, {WRITER: writer()}, {WRITER: "ada@far"}, {WRITER: "ada@far"}], strict=True):
        run.mkdir()
        write_json(run / MARK, mark)
    assert others(runs) == {"an unknown user": 1, "ada@far": 2}


@pytest.mark.parametrize(("who", "said"), [("ada@far", ["ada@far"]), (writer(), [])])
def test_sync_names_the_writer_of_a_mark_that_it_cannot_verify(who, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setattr("sys.argv", ["sync.py", str(tmp_path)])
    run = RunFolder(config(results=str(tmp_path))).path
    run.mkdir(parents=True)
    (run / "summary.json").touch()
    write_json(run / MARK, {**current(run), WRITER: who})
    assert sync.main() == 0
    out = capsys.readouterr().out
    assert [name for name in ("ada@far", writer()) if name in out] == said
    assert "1 up to date" in out


def test_sync_counts_a_folder_that_it_may_not_read_as_failed(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setattr("sys.argv", ["sync.py", str(tmp_path)])
    ours, closed = tmp_path / "runs" / "ours", tmp_path / "runs" / "closed"
    for run in (ours, closed):
        run.mkdir(parents=True)
    (ours / "summary.json").touch()
    write_json(ours / MARK, current(ours))
    stat = Path.stat

    def refuse(path, **options):
        if path.parent.name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", refuse)
    assert sync.main() == 1
    out = capsys.readouterr().out
    assert "closed: " in out
    assert "1 up to date, 1 failed" in out


@pytest.mark.thorough
def test_sync_moves_runs_to_the_given_project_and_says_which_it_cannot(tmp_path):
    results = tmp_path / "results"
    assert command("bench/run.py", *WORDS, "tracker=none", cwd=tmp_path).returncode == 0
    for words, line in [((), "1 written"), (("--project", "b"), "1 written"), (("--project", "b"), "1 up to date")]:
        assert line in command("bench/sync.py", *words, cwd=tmp_path).stdout
    (run,) = folders(results)
    assert images(results)[run.name].run.project == "b"
    mark = read_json(run / MARK)
    write_json(run / MARK, {name: mark[name] for name in mark if name not in PLACE})  # an older one
    out = command("bench/sync.py", "--project", "c", cwd=tmp_path).stdout
    assert ("--project is ignored for 1 run" in out, "1 up to date" in out) == (True, True), out


def test_another_project_of_a_run_that_is_done_is_reported(tmp_path, monkeypatch):
    for name in ("WANDB_PROJECT", "WANDB_ENTITY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    tracker = {"name": "wandb", "project": "b", "entity": None}
    folder = RunFolder(config(results=str(tmp_path), tracker=tracker))
    assert about_done([folder], alone=True) == []
    folder.path.mkdir(parents=True)
    for project, reported in (("a", True), ("b", False)):
        write_json(folder.path / MARK, {"project": project, "entity": None})
        assert [str(tmp_path) in line and "--project b" in line for line in about_done([folder], alone=True)] == (
            [True] * reported
        )
