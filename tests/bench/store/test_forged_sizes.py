"""Files that a stranger made, and that are small but expand to more than fits in memory."""

import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.results.archive import read_archive, write_archive
from analysis.results.errors import NoData
from bench.base import npy
from bench.base.errors import UserError
from bench.store import files, read_parquet
from bench.training import checkpoint
from tests.analysis.results.test_selected import made
from tests.faults.harm_store import unfinished


def test_counts_the_numbers_of_a_table_and_not_its_rows(monkeypatch):
    """The footer of a forged table can have fewer rows than its row groups."""
    table, sink = pa.table({"step": np.arange(1000), "test_loss": np.zeros(1000)}), io.BytesIO()
    pq.write_table(table, sink, row_group_size=500, store_schema=False)
    content, rows = sink.getvalue(), b"\x16\xd0\x0f"  # Thrift: field 3, i64, 1000
    assert content.count(rows) == 1
    forged = content.replace(rows, b"\x16\x84\x00")  # 2, in as many bytes
    assert pq.read_metadata(io.BytesIO(forged)).num_rows == 2
    monkeypatch.setattr(read_parquet, "VALUES", 2000)
    assert read_parquet.read_table(content).num_rows == 1000
    monkeypatch.setattr(read_parquet, "VALUES", 1999)
    for one in (forged, content):
        with pytest.raises(ValueError, match="2000"):
            read_parquet.read_table(one)
    monkeypatch.undo()
    assert read_parquet.read_table(content, rows=1000).num_rows == 1000
    for one in (forged, content):
        with pytest.raises(ValueError, match=r"1000 rows.* 999$"):
            read_parquet.read_table(one, rows=999)


def test_limits_the_values_of_a_table_with_texts(monkeypatch):
    sink = io.BytesIO()
    pq.write_table(pa.table({"run_id": ["a"] * 1000, "seed": np.zeros(1000)}), sink)
    monkeypatch.setattr(read_parquet, "VALUES_WITH_TEXTS", 2000)
    assert read_parquet.read_table(sink.getvalue(), texts=True).num_rows == 1000
    monkeypatch.setattr(read_parquet, "VALUES_WITH_TEXTS", 1999)
    with pytest.raises(ValueError, match="2000"):
        read_parquet.read_table(sink.getvalue(), texts=True)


@pytest.mark.parametrize("texts", [True, False])
def test_reads_only_the_given_columns_whatever_others_are_called(texts):
    sink = io.BytesIO()
    pq.write_table(pa.table({"step.a": [1], "step": [2], "numbers": [3], "a": [4]}), sink)
    table = read_parquet.read_table(sink.getvalue(), texts=texts, columns=("step", "scalars_sent"))
    assert table.select(["step", "scalars_sent"]).to_pylist() == [{"step": 2, "scalars_sent": 3}]
    assert "a" not in table.column_names
    assert read_parquet.read_table(sink.getvalue(), texts=texts).num_columns == 4


@pytest.mark.parametrize("end", [b"", checkpoint.SEAL + b"0" * 64 + b"\n"])
def test_a_large_checkpoint_without_its_digest_is_not_read_whole(tmp_path, monkeypatch, end):
    run = unfinished(tmp_path)
    path, before = run.checkpoints / "40.0-5.npz", checkpoint.steps(run.checkpoints, 6)
    with path.open("wb") as file:
        file.seek(5 << 30 if not end else 1 << 26)  # a sparse file, which takes no space
        file.write(end or b"0")
    monkeypatch.setattr(checkpoint, "CHUNK", 1 << 20)
    monkeypatch.setattr(checkpoint, "content_of", lambda *_: pytest.fail("read whole"))
    assert checkpoint.arrays(path) is None
    monkeypatch.undo()
    assert checkpoint.steps(run.checkpoints, 6) == before
    assert [*checkpoint.damage(run.checkpoints)] == [path.name]


def test_a_checkpoint_whose_arrays_overlap_is_damaged(tmp_path):
    """All entries of its directory are the same bytes, so that a small file has many large arrays."""
    run = unfinished(tmp_path)
    path, sink = run.checkpoints / "30.0-5.npz", io.BytesIO()
    with zipfile.ZipFile(sink, "w") as file:
        for name, array in {**(checkpoint.arrays(path) or {}), "large": np.zeros((6, 1000))}.items():
            with file.open(f"{name}.npy", "w") as part:
                np.save(part, array)
        file.filelist += [file.getinfo("large.npy")] * 9
        file._didModify = True
    body = sink.getvalue()
    path.write_bytes(body + checkpoint._seal(checkpoint._names(path), body))
    assert checkpoint.arrays(path) is None
    assert path.name in checkpoint.damage(run.checkpoints)


def test_a_checkpoint_of_very_many_arrays_is_damaged_before_its_directory_is_read(tmp_path, monkeypatch):
    run = unfinished(tmp_path)
    path = run.checkpoints / "30.0-5.npz"
    count = len(checkpoint.arrays(path) or {})
    monkeypatch.setattr(npy, "ENTRIES", count)
    assert checkpoint.arrays(path) is not None
    monkeypatch.setattr(npy, "ENTRIES", count - 1)
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("directory read"))
    assert checkpoint.arrays(path) is None
    assert [*checkpoint.damage(run.checkpoints)] == [file.name for file in run.checkpoints.glob("*.npz")]


def test_a_text_that_many_rows_share_is_counted_before_it_is_copied(monkeypatch):
    """A dictionary with one text, which 1000 rows of a small file have."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * 10_000]))
    sink = io.BytesIO()
    pq.write_table(pa.table({"algo": texts, "seed": np.arange(1000)}), sink, store_schema=False)
    table = read_parquet.read_table(sink.getvalue(), texts=True)
    assert table.column("algo").to_pylist() == ["x" * 10_000] * 1000
    assert table.column("seed").to_pylist() == list(range(1000))
    monkeypatch.setattr(read_parquet, "TABLE", 9_000_000)
    before = pa.total_allocated_bytes()
    with pytest.raises(ValueError, match="texts take more"):
        read_parquet.read_table(sink.getvalue(), texts=True)
    assert pa.total_allocated_bytes() - before < 5_000_000


def test_a_checkpoint_that_does_not_fit_into_memory_says_so(tmp_path, monkeypatch):
    """Its digest is right, which anybody can write."""
    run = unfinished(tmp_path)
    path = sorted(run.checkpoints.glob("*.npz"))[0]
    assert checkpoint.arrays(path) is not None
    monkeypatch.setattr("bench.base.machine.free_memory", lambda: 2 * path.stat().st_size - 1)
    monkeypatch.setattr(checkpoint, "content_of", lambda *_: pytest.fail("read whole"))
    with pytest.raises(UserError, match="more memory"):
        checkpoint.arrays(path)


@pytest.mark.parametrize(("name", "most", "kept"), [("EVALUATIONS", 3, 3), ("NUMBERS", 5, 2), ("MOST", 1, 0)])
def test_limits_the_rows_and_the_numbers_of_a_stream(name, most, kept, tmp_path, monkeypatch):
    stream = tmp_path / "run" / "metrics.jsonl"
    stream.parent.mkdir()
    stream.write_text(files.stream_of([{"step": step, "train_loss": 1.0} for step in range(5)], "run")[0])
    assert len(files.check_rows(stream)[0]) == 5
    monkeypatch.setattr(files, name, most)
    rows, damage = files.check_rows(stream)
    assert len(rows) == kept
    assert damage


def test_limits_the_manifests_of_an_archive(tmp_path, monkeypatch):
    write_archive(made(8), tmp_path)
    read_archive(tmp_path)
    monkeypatch.setattr("analysis.results.archive.MANIFESTS", 10)
    with pytest.raises(NoData, match="limit"):
        read_archive(tmp_path)
