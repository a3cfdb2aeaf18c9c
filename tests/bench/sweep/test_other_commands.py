"""What a sweep shows and leaves alone while another command works on the same runs."""

import errno
import io
import shutil
from unittest.mock import Mock

import pytest
from rich.console import Console

from bench.base.errors import UserError
from bench.build.manifest import describe
from bench.store import disk
from bench.store.files import read_json, write_json
from bench.store.run_folder import RunFolder
from bench.sweep.sweep import run_all, run_sweep
from bench.sweep.waiting import Waiting
from bench.sweep.workers import Executor
from tests.helpers.claims import QUIET, content
from tests.helpers.configs import config
from tests.helpers.run_folders import claimed


def begun_again(run) -> None:
    """As by another command with force=true."""
    with claimed(run) as folder:
        folder.begin(describe(run))


def finished_by_another_source(run, monkeypatch) -> None:
    """Another command with other source finishes the run after this one has started, and before it has the lock."""
    claim, path = Waiting.claim, RunFolder(run).path

    def late(self, *words):
        monkeypatch.setattr(Waiting, "claim", claim)
        assert [result.state for result in run_sweep([run], QUIET)] == ["done"]
        write_json(path / "manifest.json", {**read_json(path / "manifest.json"), "fingerprint": "0123"})
        return claim(self, *words)

    monkeypatch.setattr(Waiting, "claim", late)


def test_a_finished_run_of_another_source_is_not_overwritten(tmp_path, monkeypatch):
    run = config(algo="dsgd", results=str(tmp_path))
    finished_by_another_source(run, monkeypatch)
    files, compute = [], Executor._settled

    def settled(self, folder):
        files.append(content(folder.path)) if folder.path.exists() else None
        return compute(self, folder)

    monkeypatch.setattr(Executor, "_settled", settled)
    (result,) = run_sweep([run], QUIET)
    assert result.state == result.summary["state"] == "failed"
    assert "stale=rerun" in result.error
    assert "test_loss" not in result.summary  # it is that of the other source
    assert content(result.path) == files[-1]


@pytest.mark.parametrize("how", [{"stale": "rerun"}, {"force": True}])
def test_a_finished_run_of_another_source_is_repeated_on_demand(tmp_path, monkeypatch, how):
    run = config(algo="dsgd", results=str(tmp_path), **how)
    finished_by_another_source(run, monkeypatch)
    (result,) = run_sweep([run], QUIET)
    assert (result.state, result.error) == ("done", None)
    assert read_json(result.path / "manifest.json")["fingerprint"] != "0123"


def test_a_run_that_cannot_be_kept_is_not_repeated(tmp_path, monkeypatch):
    run = config(algo="dsgd", results=str(tmp_path), force=True)
    run_sweep([run], QUIET)
    folder = tmp_path / "runs" / run.run_id
    before = content(folder)
    with monkeypatch.context() as patch:
        full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
        patch.setattr("shutil.copyfile", full)
        patch.setattr("os.link", full)
        (result,) = run_sweep([run], QUIET)
    assert "space" in result.error
    assert {name: content(folder)[name] for name in before if name != "log.txt"} == {
        name: text for name, text in before.items() if name != "log.txt"
    }
    assert RunFolder(run).final
    (folder / "log.txt").unlink()
    (folder / "status.json").unlink()
    assert run_sweep([run], QUIET)[0].state == "done"


def test_earlier_results_are_on_disk_before_the_run_starts(tmp_path, monkeypatch):
    """After a power loss, files that were not synced may be empty."""
    runs = [config(algo="dsgd", seed=seed, results=str(tmp_path), force=True) for seed in range(3)]
    run_sweep(runs, QUIET)
    synced, begun, begin = set(), [], RunFolder.begin
    wait = disk.wait_for
    monkeypatch.setattr(disk, "wait_for", lambda path, *how: synced.add(path) or wait(path, *how))
    monkeypatch.setattr(RunFolder, "begin", lambda self, *words: begun.append({*synced}) or begin(self, *words))
    run_sweep(runs, QUIET)
    kept = {tmp_path / "runs" / run.run_id / ".earlier" for run in runs}
    assert {path.parent for path in begun[0] if path.name == "metrics.parquet"} >= kept
    assert begun[0] >= {*kept, *(draft.parent for draft in kept)}  # the names in these folders


@pytest.mark.parametrize("how", [{"stale": "rerun"}, {"force": True}])
def test_a_run_whose_repetition_fails_keeps_its_earlier_results(tmp_path, monkeypatch, how):
    run = config(algo="dsgd", results=str(tmp_path), **how)
    run_sweep([run], QUIET)
    folder = tmp_path / "runs" / run.run_id
    write_json(folder / "manifest.json", {**read_json(folder / "manifest.json"), "fingerprint": "0123"})
    before, output = content(folder), io.StringIO()
    with monkeypatch.context() as patch:
        patch.setattr(Executor, "_compute", lambda *_: 1 / 0)
        for _ in range(2):  # a second failure replaces no earlier results
            (result,) = run_sweep([run], Console(file=output, width=500))
            assert result.state == "failed"
            assert content(folder / "earlier") == before
            assert str(folder / "earlier") in output.getvalue()
    (result,) = run_sweep([run], QUIET)
    assert result.state == "done"
    assert not (folder / "earlier").exists()


@pytest.mark.parametrize("before", [False, True], ids=["computed", "reused"])
def test_the_table_shows_the_metrics_of_the_run_that_was_done(tmp_path, monkeypatch, before):
    first, second = (config(algo=algo, results=str(tmp_path), jobs=1) for algo in ("dsgd", "dsgt"))
    if before:
        run_sweep([first], QUIET)
    compute = Executor._compute

    def computed(self, step, members, *words):
        if members[0][0].config == second:
            begun_again(first)
        return compute(self, step, members, *words)

    monkeypatch.setattr(Executor, "_compute", computed)
    sink = io.StringIO()
    result, _ = run_sweep([first, second], Console(file=sink, width=200))
    assert RunFolder(first).summary()["state"] == "running"
    assert (result.summary["state"], result.summary["step"]) == ("done", 40)
    assert result.summary["test_loss"] > 0
    assert f"changed {result.path.name}" in sink.getvalue()


def test_a_run_that_another_command_begins_to_repeat_is_not_reused(tmp_path, monkeypatch):
    run = config(algo="dsgd", results=str(tmp_path))
    run_sweep([run], QUIET)
    tidy = RunFolder.tidy

    def late(self) -> None:
        monkeypatch.setattr(RunFolder, "tidy", tidy)
        begun_again(run)
        tidy(self)

    monkeypatch.setattr(RunFolder, "tidy", late)
    (result,) = run_sweep([run], QUIET)
    assert RunFolder(run).final
    assert (result.summary["state"], result.summary["step"]) == ("done", 40)


def test_a_finished_run_is_changed_only_under_its_lock(tmp_path, new_lock):
    run = config(algo="dsgd", results=str(tmp_path))
    run_sweep([run], QUIET, "first")
    folder = RunFolder(run)
    folder.stream.write_text("")
    before, other = content(folder.path), new_lock(folder.lock.path)
    assert other.take()
    assert folder.join("second") is False
    folder.tidy()
    assert content(folder.path) == before
    other.release()
    assert folder.join("second") is True
    folder.tidy()
    assert read_json(folder.path / "manifest.json")["also"] == ["second"]
    assert not folder.stream.exists()
    assert other.take()  # released again


@pytest.mark.parametrize("change", [RunFolder.tidy, lambda folder: folder.join("second")], ids=["tidy", "join"])
def test_a_run_that_another_command_repeats_is_left_alone(tmp_path, monkeypatch, change):
    run = config(algo="dsgd", results=str(tmp_path))
    run_sweep([run], QUIET, "first")
    folder, claim, files = RunFolder(run), RunFolder.claim, []
    folder.stream.write_text("")

    def late(self) -> bool:
        monkeypatch.setattr(RunFolder, "claim", claim)
        begun_again(run)
        files.append(content(folder.path))
        return claim(self)

    monkeypatch.setattr(RunFolder, "claim", late)
    change(folder)
    assert content(folder.path) == files[0]
    assert folder.stream.exists()


def test_a_broken_lock_of_one_run_does_not_end_the_sweep(tmp_path, monkeypatch, new_lock):
    first, second = (config(algo=algo, results=str(tmp_path)) for algo in ("dsgd", "dsgt"))
    lock = new_lock(RunFolder(first).lock.path)
    assert lock.take()
    taken_back = Waiting._taken_back

    def broken(self, *words):
        lock.path.unlink()
        lock.path.mkdir()
        monkeypatch.setattr(Waiting, "_taken_back", taken_back)
        return taken_back(self, *words)

    monkeypatch.setattr(Waiting, "_taken_back", broken)
    results = run_sweep([first, second], QUIET)
    assert [result.state for result in results] == ["failed", "done"]


def test_a_folder_that_is_deleted_during_the_sweep_is_no_finished_run(tmp_path, monkeypatch):
    """The folder of the first of two runs; it is not taken for one of an earlier version."""
    first, second = (config(algo="dsgd", seed=seed, results=str(tmp_path), jobs=1) for seed in (0, 1))
    end = Executor._end

    def deleting(self, folder, *words, **more):
        end(self, folder, *words, **more)
        shutil.rmtree(RunFolder(first).path, ignore_errors=True)

    monkeypatch.setattr(Executor, "_end", deleting)
    sink = io.StringIO()
    assert run_all([first, second], Console(file=sink, width=300)) == 1
    assert f"{RunFolder(first).path} is gone" in sink.getvalue()
    assert "earlier version" not in sink.getvalue()


def test_a_results_folder_that_is_moved_during_a_run_ends_the_command(tmp_path, monkeypatch):
    """It is not made anew, and the run does not start again from step 0."""
    place = tmp_path / "results"
    run = config(algo="dsgd", steps=60, eval_every=20, results=str(place))
    record = RunFolder.record

    def moving(self, row):
        record(self, row)
        if row["step"] == 20:
            place.rename(tmp_path / "moved")

    monkeypatch.setattr(RunFolder, "record", moving)
    with pytest.raises(UserError, match="moved or deleted"):
        run_sweep([run], QUIET)
    assert not place.exists()
    monkeypatch.undo()
    (tmp_path / "moved").rename(place)
    assert run_sweep([run], QUIET)[0].state == "done"
    assert len((RunFolder(run).path / "log.txt").read_text().split(" starts")) == 2
