"""Limits of data files: what a file would take is rejected before it is allocated."""

import bz2
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.base import npy
from bench.base.errors import UserError
from datasets.own import limits
from tests.helpers.tables import load

TABLE = "a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(24))
LIBSVM = "".join(f"{i % 2} 1:{i + 1}\n" for i in range(24))
X, Y = np.arange(24.0)[:, None], np.arange(24) % 2


def written(path: Path, rows: int = 24) -> Path:
    """A valid file with so many rows; blank lines and zeros in their place if there are more than 24."""
    blank, x, y = "\n" * (rows - 24), np.zeros((rows, 1)), np.zeros(rows, dtype=int)
    x[:24], y[:24] = X, Y
    match path.name:
        case "t.csv":
            path.write_text(TABLE + "0,0\n" * (rows - 24))
        case "t.csv.gz":
            path.write_bytes(gzip.compress((TABLE + blank).encode()))
        case "t.libsvm.bz2":
            path.write_bytes(bz2.compress((LIBSVM + blank).encode()))
        case "t.npz":
            np.savez_compressed(path, x=x, y=y)
        case "t.parquet":
            pd.DataFrame({"a": x[:, 0], "y": y}).to_parquet(path)
        case "t.txt":
            path.write_text("to be or not " * rows)
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.libsvm.bz2", "t.npz", "t.parquet", "t.txt"])
def test_rejects_a_file_with_more_content_than_the_limit(name, tmp_path, monkeypatch):
    column, options = ("y" if "csv" in name or "parquet" in name else None), {"context": 8} if ".txt" in name else {}
    monkeypatch.setattr(limits, "LIMIT", 5000)
    monkeypatch.setattr(limits, "PIECE", 64)
    assert len(load(written(tmp_path / name), column, **options).train_x)
    with pytest.raises(UserError, match=name.replace(".", r"\.")):
        load(written(tmp_path / name, 9000), column, **options)


def test_the_rows_of_a_dense_table_count_as_float64(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "LIMIT", 8 * 24 * 10)
    for index in (10, 11):
        (tmp_path / "t.libsvm").write_text(LIBSVM + f"0 {index}:1\n")
        with pytest.raises(UserError, match=rf"\b25\b.*\b{index}\b"):
            load(tmp_path / "t.libsvm")
    (tmp_path / "t.libsvm").write_text(LIBSVM + "0 9:1\n")
    assert load(tmp_path / "t.libsvm").train_x.shape[1] == 9
    (tmp_path / "t.csv").write_text("a,b,y\n" + "0,1,1\n1,0,0\n" * 60)
    with pytest.raises(UserError, match=r"\b121\b.*\b3\b"):
        load(tmp_path / "t.csv", "y")


def test_columns_of_words_count_as_their_inputs(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text(
        "a,b,y\n" + "".join(f"{'pqrs'[i % 4]},{'tuvw'[i // 6]},{i % 2}\n" for i in range(24))
    )
    monkeypatch.setattr(limits, "LIMIT", 8 * 24 * 8)
    assert load(tmp_path / "t.csv", "y").train_x.shape[1] == 8
    monkeypatch.setattr(limits, "LIMIT", 8 * 24 * 8 - 1)
    with pytest.raises(UserError, match=r"'b'.*\b24\b.*\b8\b"):
        load(tmp_path / "t.csv", "y")


def test_rejects_a_large_index_of_a_short_libsvm_file(tmp_path):
    (tmp_path / "t.libsvm").write_text("1 1000000000:1\n")
    with pytest.raises(UserError, match=r"1000000000.*100000"):
        load(tmp_path / "t.libsvm")


@pytest.mark.parametrize("name", ["t.csv", "t.libsvm", "t.npz", "t.parquet"])
def test_rejects_more_columns_than_the_limit(name, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "COLUMNS", 5)
    frame = pd.DataFrame(np.arange(24 * 6).reshape(24, 6) % 7, columns=[*"abcdey"])
    match name:
        case "t.csv":
            frame.to_csv(tmp_path / name, index=False)
        case "t.libsvm":
            (tmp_path / name).write_text(LIBSVM + "0 6:1\n")
        case "t.npz":
            np.savez(tmp_path / name, x=frame.to_numpy(), y=Y)
        case "t.parquet":
            frame.to_parquet(tmp_path / name)
    with pytest.raises(UserError, match=r"\b6\b.*\b5\b"):
        load(tmp_path / name, "y" if name in ("t.csv", "t.parquet") else None)


def archive(path: Path, shape: tuple[int, ...] | str, kind: int = zipfile.ZIP_DEFLATED) -> Path:
    """An npz file whose array x has a header with this shape, and 24 numbers."""
    described = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".encode()
    targets = io.BytesIO()
    np.save(targets, Y)
    with zipfile.ZipFile(path, "w", kind) as file:
        header = b"\x93NUMPY\x01\x00" + len(described).to_bytes(2, "little") + described
        file.writestr("x.npy", header + X.tobytes())
        file.writestr("y.npy", targets.getvalue())
    return path


@pytest.mark.parametrize("shape", [(1 << 45, 2), (1 << 28,), (1 << 40, 0), (1 << 20, 99, 99)])
def test_rejects_declared_shapes_that_are_larger_than_the_limit(shape, tmp_path):
    with pytest.raises(UserError, match=r"t\.npz\b.* GiB"):
        load(archive(tmp_path / "t.npz", shape))


@pytest.mark.parametrize("shape", ["(" + "-" * 9000 + "1,)", "(" * 9000, "(-24, 1)", "('a',)", "(24"])
def test_rejects_headers_that_are_no_headers_of_arrays(shape, tmp_path):
    with pytest.raises(UserError, match=r"t\.npz .*header"):
        load(archive(tmp_path / "t.npz", shape))
    assert len(load(archive(tmp_path / "t.npz", (24, 1))).train_x) == 19


def test_rejects_compression_that_has_no_limit(tmp_path):
    for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(UserError, match=r"'x\.npy'"):
            load(archive(tmp_path / "t.npz", (24, 1), kind))


def test_images_count_in_their_own_type(tmp_path, monkeypatch):
    images = np.arange(24 * 16, dtype=np.uint8).reshape(24, 1, 4, 4)
    monkeypatch.setattr(limits, "LIMIT", 4 * images.size)
    np.savez(tmp_path / "t.npz", x=images, y=Y.astype(np.uint8))
    assert load(tmp_path / "t.npz").train_x.dtype == np.uint8
    np.savez(tmp_path / "t.npz", x=images.reshape(24, -1), y=Y.astype(np.uint8))
    with pytest.raises(UserError, match=r"\b24\b.*\b16\b"):
        load(tmp_path / "t.npz")


@pytest.mark.parametrize("kind", ["dictionary", "plain"])
def test_texts_that_many_rows_have_are_not_copied(kind, tmp_path, monkeypatch):
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 5000, pa.int32()), ["a" * 9999, "b" * 9999])
    table = pa.table({"a": words, "y": [0, 1] * 5000})
    monkeypatch.setattr(limits, "LIMIT", 1 << 20)  # the texts of all rows: 100 MB
    pq.write_table(table, tmp_path / "t.parquet", store_schema=kind == "dictionary")
    usual, counting = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(counting)
    try:
        assert load(tmp_path / "t.parquet", "y").train_x.shape == (8000, 2)
    finally:
        pa.set_memory_pool(usual)
    assert 0 < counting.max_memory() < 1 << 22


def test_a_parquet_column_of_another_type_is_read_by_no_one(tmp_path):
    lists = pa.ListArray.from_arrays(pa.array(range(25)), pa.array([1] * 24))
    bytes_ = pa.array([b"a"] * 24, pa.binary(1))
    for column in (lists, bytes_):
        pq.write_table(pa.table({"a": X[:, 0], "b": column, "y": Y}), tmp_path / "t.parquet")
        with pytest.raises(UserError, match=r"'b'.*drop=\[b\]"):
            load(tmp_path / "t.parquet", "y")
        assert load(tmp_path / "t.parquet", "y", drop=["b"]).train_x.shape[1] == 1


def test_rejects_texts_that_repeat_the_one_before(tmp_path):
    words = ["a" * 9999 + str(i) for i in range(24)]
    table, encoding = pa.table({"a": words, "y": Y}), {"a": "DELTA_BYTE_ARRAY", "y": "PLAIN"}
    for version in ("1.0", "2.0"):
        pq.write_table(
            table, tmp_path / "t.parquet", use_dictionary=False, column_encoding=encoding, data_page_version=version
        )
        with pytest.raises(UserError, match="DELTA_BYTE_ARRAY"):
            load(tmp_path / "t.parquet", "y")


def test_lines_that_end_with_a_carriage_return_are_rows(tmp_path, monkeypatch):
    text = TABLE.replace("\n", "\r")
    (tmp_path / "t.csv").write_bytes(text.encode())
    assert len(load(tmp_path / "t.csv", "y").train_x) == 19
    monkeypatch.setattr(limits, "LIMIT", 8 * 2 * 25 - 1)
    with pytest.raises(UserError, match=r"\b25 rows"):
        load(tmp_path / "t.csv", "y")


def test_rows_without_features_count_in_a_libsvm_file(tmp_path, monkeypatch):
    (tmp_path / "t.libsvm").write_text(LIBSVM + "1\n" * 200)
    monkeypatch.setattr(limits, "LIMIT", 8 * 200)
    with pytest.raises(UserError, match=r"\b225 rows .*\b24\b"):
        load(tmp_path / "t.libsvm")


def test_rejects_an_archive_of_very_many_arrays(tmp_path):
    np.savez(tmp_path / "t.npz", x=X, y=Y, **{f"a{number}": np.zeros(0) for number in range(20)})
    assert len(load(tmp_path / "t.npz").train_x) == 19
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(npy, "ENTRIES", 21)
        with pytest.raises(UserError, match=r"\b22 arrays"):
            load(tmp_path / "t.npz")


def test_an_error_shows_the_beginning_of_a_long_word(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + f"1,{'b' * 9999}\n" * 24)
    with pytest.raises(UserError) as error:
        load(tmp_path / "t.csv", "y")
    assert len(str(error.value)) < 200
