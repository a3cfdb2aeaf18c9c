"""Nothing that was changed on disk is believed, and nothing that was damaged is thrown away."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from rich.console import Console

from analysis import load
from analysis.results.folder import load_folder
from bench import status, sync
from bench.store.disk import Pace, make_lasting
from bench.store.earlier import EARLIER
from bench.store.files import check_json, check_rows, read_json, write_json
from bench.store.integrity import examine
from bench.store.locks import untrusted
from bench.store.regular import make_folder
from bench.store.run_folder import RunFolder
from bench.sweep.resume import resume_point
from bench.sweep.sweep import run_all
from bench.terminal.table import run_columns
from bench.training import checkpoint
from bench.training.observer import Snapshot
from tests.faults.harm_store import unfinished
from tests.helpers.configs import config
from tests.helpers.mentions import mentions

QUIET = Console(quiet=True)
TIMES = ["compute_s", "comm_s", "eval_s", "wall_s"]
COUNTS = [np.zeros(9, dtype=np.int64)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A sweep of two runs."""
    folder = tmp_path_factory.mktemp("made")
    assert run_all([config(results=str(folder), seed=seed) for seed in (0, 1)], QUIET) == 0
    return folder


@pytest.fixture
def results(made, tmp_path):
    shutil.copytree(made, tmp_path / "results")
    return tmp_path / "results"


def the_run(results, **changes):
    return RunFolder(config(results=str(results), **changes))


def test_digests_are_nobodys_label_or_metric(results):
    folder = the_run(results)
    text = json.loads((folder.path / "summary.json").read_text())
    assert set(text["sha256"]) == {"config.yaml", "metrics.parquet", "start"}
    assert list(text)[-1] == "digest"
    assert list(text).index("state") < list(text).index("sha256")
    hidden = {"sha256", "digest"}
    for names in (load(results), load_folder(results).runs, load_folder(results).rows, folder.summary()):
        assert not hidden & set(names)
    assert not hidden & set(status.look_at_run(folder.path))
    assert not hidden & set(examine(folder.path).labels)
    assert "digest" not in folder.manifest()


def test_rejects_the_manifest_of_another_start(results):
    folder = the_run(results)
    earlier = (folder.path / "manifest.json").read_bytes()
    assert run_all([config(results=str(results), force=True)], QUIET) == 0
    assert folder.final
    (folder.path / "manifest.json").write_bytes(earlier)
    assert "manifest.json" in examine(folder.path).damaged
    assert not folder.final
    summary = read_json(folder.path / "summary.json")
    del summary["sha256"]["start"]  # a run of an earlier version
    write_json(folder.path / "summary.json", summary)
    assert folder.final


def test_the_order_of_keys_in_a_file_says_nothing(results):
    """A metric of a plug-in among them, which the manifest names."""
    folder = the_run(results)
    manifest = read_json(folder.path / "manifest.json")
    write_json(
        folder.path / "manifest.json", {**manifest, "metrics": {"ratio": {"label": "r", "more_is_better": True}}}
    )
    written = {**read_json(folder.path / "summary.json"), "ratio": 0.5}

    def read() -> list:
        found = examine(folder.path)
        loaded = load_folder(results)
        seen = [
            found.labels,
            found.final,
            found.damaged,
            folder.final,
            folder.summary(),
            status.look_at_run(folder.path),
        ]
        tables = [frame.sort_index(axis=1).to_csv() for frame in (loaded.runs, loaded.rows)]
        return [*seen, *tables, run_columns([folder.summary()])]

    write_json(folder.path / "summary.json", written)
    before = read()
    assert (before[0]["state"], before[1]["ratio"], before[2]) == ("done", 0.5, {})
    assert not {"state", "algo", "eta", "run_id"} & set(before[1])
    assert not {"ratio", "test_loss", "step"} & set(before[0])
    for mixed in (sorted(written), sorted(written, reverse=True), list(written)[::-1]):
        write_json(folder.path / "summary.json", {name: written[name] for name in mixed})
        assert read() == before


def test_a_json_file_is_what_was_written_or_nothing(tmp_path):
    path = tmp_path / "x.json"
    assert check_json(path) == ({}, None)
    for value in ({}, {"a": 0.1, "b": [1, None], "c": '\n "digest": "é'}, {"a": 1, "digest": "of an earlier time"}):
        write_json(path, value)
        assert read_json(path) == {name: item for name, item in value.items() if name != "digest"}
    for text in (path.read_text().replace("1", "2", 1), path.read_text()[:-2], "[" * 100_000, "[1]", '{"digest": 1}'):
        path.write_text(text)
        value, wrong = check_json(path)
        assert (value, bool(wrong)) == ({}, True)
        assert read_json(path) == {}
    path.write_text('{"no": "digest"}')
    assert read_json(path) == {}
    assert check_json(path, sealed=False) == ({"no": "digest"}, None)


def test_a_stream_is_read_up_to_its_damage(tmp_path):
    run = unfinished(tmp_path)
    lines = run.stream.read_text().splitlines(keepends=True)
    rows, wrong = check_rows(run.stream)
    assert (len(rows), wrong) == (len(lines), None)
    changes = {
        "[1, 2]\n": "no object",
        lines[3].replace('"grad_norm"', '"grad_morm"', 1): "another key",
        lines[2]: "a line twice",
        '{"step": "12"}\n': "no number",
        "\0" * len(lines[3]) + "\n": "zeros",
        lines[3].replace("1", "2", 1): "another value",
        lines[3].replace('"digest"', '"dijest"'): "no digest",
        lines[4]: "a line is missing",
    }
    for change, name in changes.items():
        run.stream.write_text("".join([*lines[:3], change, *lines[4:]]))
        rows, wrong = check_rows(run.stream)
        assert len(rows) == 3, name
        assert "line 4" in wrong
        assert resume_point(run) is None or resume_point(run)[0] < 12
        assert load(tmp_path).attrs["unreadable"] == [run.path.name]
    run.stream.write_text("".join(lines)[:-9])  # as a kill leaves it
    assert check_rows(run.stream)[1] is None
    assert load(tmp_path).attrs["unreadable"] == []


def test_a_folder_under_the_name_of_another_run_is_named_and_made_anew(results):
    one, other = the_run(results, seed=0), the_run(results, seed=1)
    changes = [*TIMES, "results", "replicas"]
    expected = load(results).drop(columns=changes)
    shutil.rmtree(other.path)
    shutil.copytree(one.path, other.path)
    assert load(results).attrs["unreadable"] == [other.path.name]
    assert status.look_at_run(other.path)["state"] == "damaged"
    assert one.path.name in examine(other.path).damaged["summary.json"]
    assert run_all([one.config, other.config], QUIET) == 0
    assert load(results).drop(columns=changes).equals(expected)


def test_a_damaged_checkpoint_is_set_aside_and_the_one_before_used(tmp_path):
    whole = config(results=str(tmp_path / "whole"), eval_every=4, checkpoint_every=10)
    assert run_all([whole], QUIET) == 0
    run = unfinished(tmp_path / "cut")
    newest = run.checkpoints / "30.0-5.npz"
    harmed = newest.read_bytes()[:-200] + b"?" + newest.read_bytes()[-199:]
    newest.write_bytes(harmed)
    assert run_all([run.config], QUIET) == 0
    assert run.manifest()["resumed"] == [20]
    assert (run.path / "damaged" / "30.0-5.npz.0").read_bytes() == harmed
    assert "checkpoint/30.0-5.npz" in (run.path / "log.txt").read_text()
    one, other = (load(tmp_path / name).drop(columns=[*TIMES, "results"]) for name in ("whole", "cut"))
    assert one.equals(other)


def test_checkpoints_that_do_not_fit_are_not_used(tmp_path):
    seconds = [dict.fromkeys(TIMES, 0.0)]

    def write(step, shape, nodes):
        checkpoint.write(tmp_path / "c", Snapshot(step, {"x": torch.zeros(shape)}, seconds, [{}], COUNTS), nodes)

    write(10, (1, 2, 5), range(3))  # rows of two nodes under the name of three
    assert checkpoint.steps(tmp_path / "c", 3) == []
    assert list(checkpoint.damage(tmp_path / "c")) == ["10.0-2.npz"]
    write(20, (1, 2, 5), range(2))
    write(20, (1, 1, 4), range(2, 3))  # another number of parameters
    assert checkpoint.steps(tmp_path / "c", 3) == []
    write(30, (1, 3, 5), range(3))
    assert checkpoint.steps(tmp_path / "c", 3) == [30]
    (tmp_path / "c" / "30.0-2.npz").rename(tmp_path / "c" / "40.0-2.npz")  # another step's state
    assert checkpoint.steps(tmp_path / "c", 3) == []


def test_what_is_damaged_twice_is_kept_twice(results):
    folder = the_run(results)
    for number in range(2):
        (folder.path / "metrics.parquet").write_bytes(b"harm %d" % number)
        assert status.look_at_run(folder.path)["state"] == "damaged"
        assert "test_loss" not in status.look_at_run(folder.path)
        assert run_all([folder.config], QUIET) == 0
        assert (folder.path / "damaged" / f"metrics.parquet.{number}").read_bytes() == b"harm %d" % number
    assert status.look_at_run(folder.path)["state"] == "done"
    (folder.path / "manifest.json").unlink()  # then nobody knows which source made it
    assert not folder.final


def test_damaged_numbers_are_not_uploaded(results, monkeypatch, capsys):
    folders = [the_run(results, seed=seed).path for seed in (0, 1)]
    (folders[0] / "metrics.parquet").write_bytes(b"")
    (folders[1] / "summary.json").write_bytes((folders[1] / "summary.json").read_bytes().replace(b"1", b"2", 1))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr(sys, "argv", ["sync.py", str(results)])
    assert sync.main() == 1
    said = capsys.readouterr().out
    assert re.search(f"{folders[0].name}: .*metrics.parquet", said)
    assert re.search(f"{folders[1].name}: .*summary.json", said)
    assert mentions(said, "0 written (offline), 0 ", ", 2 failed")
    assert not (results / "wandb").exists()


def test_pages_of_metrics_carry_checksums(results):
    """For those who read the file alone, without the summary that has its digest."""
    path = the_run(results).path / "metrics.parquet"
    whole, expected = path.read_bytes(), pq.read_table(path)

    def other_numbers(content, **how):
        try:
            return not pq.ParquetFile(pa.BufferReader(content), **how).read().equals(expected)
        except (OSError, ValueError, MemoryError):
            return False

    flipped = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(0, len(whole) // 2, 17)]
    silent = [content for content in flipped if other_numbers(content)]
    assert len(silent) > 20
    noticed = [content for content in silent if not other_numbers(content, page_checksum_verification=True)]
    assert len(noticed) > len(silent) / 2  # not in the headers of pages: hence the digest of the whole


def test_the_end_is_on_the_disk_before_the_way_back_is_gone(tmp_path, monkeypatch):
    c = config(results=str(tmp_path), checkpoint_every=10)
    folder, waited = RunFolder(c), []
    fsync = os.fsync
    assert not untrusted(make_folder(folder.lock.path.parent))  # it is synced too

    def watched(descriptor):
        waited.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        assert folder.stream.exists()
        assert folder.checkpoints.exists()
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    assert run_all([c], QUIET) == 0
    names = ("metrics.parquet", "summary.json", "status.json", "manifest.json", "config.yaml")
    assert {str(folder.path), *(str(folder.path / name) for name in names)} <= set(waited)
    assert waited[-1] == str(folder.path)
    assert not folder.stream.exists()
    assert not folder.checkpoints.exists()


@pytest.mark.parametrize("runs", [1, 2])
def test_a_failed_fsync_fails_all_runs_of_the_group(runs, tmp_path, monkeypatch):
    configs, fsync, calls = [config(results=str(tmp_path), seed=seed) for seed in range(runs)], os.fsync, []
    assert not untrusted(make_folder(RunFolder(configs[0]).lock.path.parent))  # it is synced too

    def broken_once(descriptor):
        calls.append(descriptor)
        if len(calls) == 1:  # the kernel reports an error once
            raise OSError(errno.EIO, "Input/output error")
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken_once)
        assert run_all(configs, QUIET) == 1
    for folder in map(RunFolder, configs):
        assert folder.status()["state"] == "failed"
        assert "Cannot write" in folder.status()["error"]
        assert folder.stream.exists()
    assert run_all(configs, QUIET) == 0


def test_what_a_kill_at_the_very_end_leaves_is_removed_by_the_next_command(results):
    folder = the_run(results)
    folder.stream.write_text("")
    folder.checkpoints.mkdir()
    assert run_all([folder.config], QUIET) == 0
    assert not folder.stream.exists()
    assert not folder.checkpoints.exists()
    assert folder.final


def test_waiting_in_the_middle_costs_a_hundredth(tmp_path, monkeypatch):
    monkeypatch.setattr(Pace, "FIRST_S", 0.0)
    files = [tmp_path / name for name in "abc"]
    for file in files:
        file.write_text("x")
    pace = Pace()
    assert [pace.wait(1, file) for file in files] == [True] * 3
    assert [pace.wait(2, file) for file in files] == [False] * 3
    assert [Pace().wait(2, file) for file in files] == [True] * 3
    make_lasting([tmp_path] * 9)  # the whole file system at once


def test_a_folder_with_many_levels_does_not_end_the_sweep(tmp_path):
    runs = [config(results=str(tmp_path), seed=seed) for seed in range(3)]
    (deep := RunFolder(runs[0]).path / EARLIER).mkdir(parents=True)
    for _ in range(1500):
        deep = deep / "a"
        deep.mkdir()
    assert run_all(runs, QUIET) == 0
    assert all(RunFolder(run).final for run in runs)
    subprocess.run(["rm", "-r", str(tmp_path / "runs")], check=True)  # pytest cannot delete so many levels


def test_a_file_of_others_that_cannot_be_read_is_not_synced(tmp_path, monkeypatch):
    (tmp_path / "notes").write_text("secret")
    real = os.open

    def without_rights(path, flags, *more, **how):
        if str(path).endswith("notes"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, flags, *more, **how)

    monkeypatch.setattr(os, "open", without_rights)
    make_lasting([tmp_path])
