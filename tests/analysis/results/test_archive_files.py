"""The files of an archive belong together, and an archive has a folder of its own."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis import archive as archive_command
from analysis.archive import main
from analysis.results.archive import FACTS, MIXED, ROWS, RUNS, read_archive, write_archive
from analysis.results.errors import NoData
from analysis.results.read import read
from bench.store import regular
from tests.analysis.results.test_selected import made
from tests.helpers.archives import without_digests


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("stops_after", [1, 2])
def test_rejects_an_archive_whose_update_stopped_between_its_files(tmp_path, monkeypatch, stops_after, sealed):
    write_archive(made(8, 16), tmp_path)
    if not sealed:
        without_digests(tmp_path)
    replaced, replace_file = [], Path.replace

    def stop(draft, path):
        if len(replaced) == stops_after:
            raise KeyboardInterrupt
        replaced.append(path.name)
        return replace_file(draft, path)

    some = made(32, 8, 16)
    monkeypatch.setattr(Path, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_archive(replace(some, runs=some.runs[::-1]), tmp_path)
    monkeypatch.undo()
    with pytest.raises(NoData, match=r"\.parquet does not belong.* \.r[a-z]+\.parquet\.\*"):
        read_archive(tmp_path)
    for draft in tmp_path.glob(".*"):  # as the error says
        draft.replace(tmp_path / draft.name[1:].rsplit(".", 2)[0])
    assert {*files_of(tmp_path)} == {RUNS, ROWS, FACTS}
    assert len(read_archive(tmp_path).runs) == 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(errno.EIO, "broken")])
@pytest.mark.parametrize("stops_after", [0, 1, 2])
def test_one_error_between_the_files_leaves_the_old_or_the_new_archive(tmp_path, monkeypatch, stops_after, error):
    write_archive(made(8, 16), tmp_path)
    calls, replace_file = [], Path.replace

    def stop(draft, path):
        calls.append(path)
        if len(calls) == stops_after + 1:
            raise error
        return replace_file(draft, path)

    monkeypatch.setattr(Path, "replace", stop)
    with pytest.raises((KeyboardInterrupt, OSError)):
        write_archive(made(8, 16, 32), tmp_path)
    assert {*files_of(tmp_path)} == {RUNS, ROWS, FACTS}
    assert len(read_archive(tmp_path).runs) == (3 if stops_after else 2)


@pytest.mark.parametrize("name", [RUNS, ROWS, FACTS])
def test_a_full_disk_leaves_the_old_archive_whole(tmp_path, monkeypatch, capsys, name):
    write_archive(made(8, 16), tmp_path / "source")
    write_archive(made(8), tmp_path / "archive")
    before, opened = files_of(tmp_path / "archive"), regular.opened

    def full(path, flags=os.O_RDONLY):
        if name in str(path) and flags & os.O_CREAT:
            return os.open("/dev/full", os.O_WRONLY), 0
        return opened(path, flags)

    monkeypatch.setattr(regular, "opened", full)
    assert main([str(tmp_path / "source"), str(tmp_path / "archive")]) == 2
    assert os.strerror(errno.ENOSPC) in capsys.readouterr().err
    assert files_of(tmp_path / "archive") == before


def test_rejects_an_earlier_archive_with_a_run_without_evaluations(tmp_path):
    write_archive(made(8), tmp_path / "fewer")
    write_archive(made(8, 16), tmp_path)
    (tmp_path / ROWS).write_bytes((tmp_path / "fewer" / ROWS).read_bytes())
    with pytest.raises(NoData, match="r1"):
        read_archive(without_digests(tmp_path))


def test_a_run_without_evaluations_is_named_and_not_packed(tmp_path, capsys, monkeypatch):
    some = made(8, 16)
    monkeypatch.setattr("analysis.results.read.read", lambda _: replace(some, rows=some.rows[:2]))
    assert main(["wandb:me/project", str(tmp_path)]) == 0
    found = capsys.readouterr()
    assert found.out.startswith("1 run, ")
    assert "r1" in found.err
    assert [*read_archive(tmp_path).runs["run_id"]] == ["r0"]


def test_rejects_a_results_folder_as_the_target(tmp_path, capsys):
    write_archive(made(8), tmp_path / "a")
    (tmp_path / "b" / "runs").mkdir(parents=True)
    assert main([str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert str(tmp_path / "b") in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["runs"]


def test_rejects_a_folder_that_is_a_results_folder_and_an_archive(tmp_path):
    write_archive(made(8), tmp_path)
    (tmp_path / "runs").mkdir()
    with pytest.raises(NoData, match=str(tmp_path)):
        read(tmp_path)


@pytest.mark.parametrize("step", [0, -1, 1 << 31, (1 << 32) + 2, 2.5])
def test_runs_that_would_be_an_invalid_archive_replace_none(tmp_path, step):
    write_archive(made(8), tmp_path)
    before, some = files_of(tmp_path), made(8, 16)
    rows = some.rows.assign(step=[0, 2, 0, step])
    with pytest.raises(NoData, match=rf"step {step}\b" if step else "sorted"):
        write_archive(replace(some, rows=rows), tmp_path)
    assert files_of(tmp_path) == before


def test_an_archive_without_ended_runs_replaces_none(tmp_path):
    write_archive(made(8), tmp_path)
    before, some = files_of(tmp_path), made(8)
    with pytest.raises(NoData, match="ended"):
        write_archive(replace(some, runs=some.runs.assign(state="failed")), tmp_path)
    assert files_of(tmp_path) == before


def test_rejects_an_archive_with_a_text_that_is_not_utf_8(tmp_path):
    write_archive(made(8), tmp_path)
    half = pa.array([b"\xed\xa0\x80"]).view(pa.string())  # half a character
    pq.write_table(pq.read_table(tmp_path / RUNS).append_column("algo.x", half), tmp_path / RUNS)
    with pytest.raises(NoData, match="UTF"):
        read_archive(without_digests(tmp_path))


def with_option(*values):
    some = made(*range(len(values)))
    return replace(some, runs=some.runs.assign(**{"algo.x": pd.Series(values, dtype=object)}))


def test_numbers_of_an_option_that_is_a_text_in_other_runs_stay_numbers(tmp_path):
    values = ["auto", 8, 0.5, None, True, "0.5"]
    write_archive(with_option(*values), tmp_path)
    back = [*read_archive(tmp_path).runs["algo.x"]]
    assert [None if pd.isna(value) else value for value in back] == values
    assert [type(value) for value in back if not pd.isna(value)] == [str, int, float, bool, str]


@pytest.mark.parametrize(
    "mixed", ['{"algo.x": [[9, 1]]}', '{"y": [[0, 1]]}', "[", "[]", '{"algo.x": 3}', '{"algo.x": [[0, {}]]}']
)
def test_rejects_an_archive_with_invalid_numbers_among_texts(tmp_path, mixed):
    write_archive(with_option("auto", 8), tmp_path)
    table = pq.read_table(tmp_path / RUNS)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, MIXED: mixed}), tmp_path / RUNS)
    with pytest.raises(NoData, match="invalid"):
        read_archive(without_digests(tmp_path))


def test_an_archive_is_on_disk_before_it_replaces_another(tmp_path, monkeypatch):
    write_archive(made(8), tmp_path)
    before, fsync, waited = (tmp_path / RUNS).read_bytes(), os.fsync, []

    def watched(descriptor):
        waited.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        assert ((tmp_path / RUNS).read_bytes() == before) == (waited[-1] != tmp_path.name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    write_archive(made(8, 16), tmp_path)
    assert [name.split(".")[1] for name in waited[:-1]] == [Path(name).stem for name in (FACTS, RUNS, ROWS)]
    assert waited[-1] == tmp_path.name


@pytest.mark.parametrize("name", ["train_loss", "run"])
def test_rejects_an_archive_with_a_column_twice(tmp_path, name):
    write_archive(made(8), tmp_path)
    table = pq.read_table(tmp_path / ROWS)
    pq.write_table(table.append_column(name, table[name]), tmp_path / ROWS)
    without_digests(tmp_path)
    with pytest.raises(NoData):
        read_archive(tmp_path)


def test_an_archive_with_other_runs_is_not_replaced(tmp_path, capsys):
    one, other = tmp_path / "one", tmp_path / "other"
    write_archive(made(8, 16), one)
    write_archive(made(8, 16, 32), other)
    before = files_of(other)
    assert main([str(one), str(other)]) == 2
    assert str(other) in capsys.readouterr().err
    assert files_of(other) == before
    assert main([str(one), str(other), str(other)]) == 0
    assert len(read_archive(other).runs) == 3
    assert main([str(other), str(one)]) == 0


@pytest.mark.parametrize("name", [RUNS, ROWS, FACTS])
@pytest.mark.parametrize("harm", [lambda file: file.write_bytes(file.read_bytes()[:-9]), Path.unlink])
def test_an_archive_that_cannot_be_read_is_not_replaced(tmp_path, capsys, name, harm):
    one, other = tmp_path / "one", tmp_path / "other"
    write_archive(made(8, 16), one)
    write_archive(made(8, 16, 32), other)
    harm(other / name)
    before = files_of(other)
    assert main([str(one), str(other)]) == 2
    assert str(other) in capsys.readouterr().err
    assert files_of(other) == before


def test_an_archive_with_other_results_or_more_metrics_is_not_replaced(tmp_path, capsys):
    some = made(8, 16)
    some = replace(some, rows=some.rows.assign(test_loss=1.0))
    for name, rows in (
        ("other", some.rows.assign(train_loss=some.rows["train_loss"] * 2)),
        ("fewer", some.rows.drop(columns="train_loss")),
        ("some", some.rows),
    ):
        write_archive(replace(some, rows=rows), tmp_path / name)
    target = tmp_path / "some"
    before = files_of(target)
    for name in ("other", "fewer"):
        assert main([str(tmp_path / name), str(target)]) == 2
        assert "r0, r1" in capsys.readouterr().err
        assert files_of(target) == before
    assert main([str(tmp_path / "fewer"), str(target), str(target)]) == 0
    assert "train_loss" in read_archive(target).rows
    assert main([str(tmp_path / "other"), str(target), str(target)]) == 0
    assert main([str(target), str(target), "--metrics", "test_loss"]) == 0
    assert "train_loss" not in read_archive(target).rows


def test_an_archive_that_another_command_changes_meanwhile_is_not_replaced(tmp_path, monkeypatch, capsys):
    write_archive(made(8), tmp_path / "one")
    target = tmp_path / "out"
    wrote = archive_command.with_metrics

    def meanwhile(*words):
        write_archive(made(8, 16), target)
        return wrote(*words)

    monkeypatch.setattr(archive_command, "with_metrics", meanwhile)
    monkeypatch.setattr(archive_command, "_lost", lambda *_: [])
    assert main([str(tmp_path / "one"), str(target), "--metrics", "train_loss"]) == 2
    assert str(target) in capsys.readouterr().err
    assert len(read_archive(target).runs) == 2
