"""Whole numbers of a user's file: those that float64 would change, and codes with leading zeros, are rejected."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.base.errors import UserError
from tests.helpers.tables import ROWS, WHOLE, as_csv, as_table, load

STARTS = [2**53 + 1, 12345678901234567890, 10**20 + 1, -(2**60) - 1]
EXACT = [2**53 - ROWS, -(2**53), 5]


def files(folder, values, missing=()):
    """A csv and a parquet file of numbers, and both of words, with these values as the column b."""
    table = {"a": list(range(ROWS)), "b": [*values], "y": [i % 9 + 0.5 for i in range(ROWS)]}
    for row in missing:
        table["b"][row] = None
    written = table | {"b": ["" if value is None else value for value in table["b"]]}
    yield as_csv(folder / "plain.csv", written), {}
    spaced = written | {"b": [f"{value:,}".replace(",", " ") if value != "" else "" for value in written["b"]]}
    yield as_csv(folder / "spaced.csv", spaced), {"thousands": "space"}
    words = table | {"b": [None if value is None else str(value) for value in table["b"]]}
    exact = table | {"b": pa.array([None if v is None else Decimal(v) for v in table["b"]], pa.decimal128(38, 0))}
    kinds = {"words": words, "exact": exact}
    if max(values) < 2**63:
        kinds |= {"plain": table, "coded": table | {"b": pa.array(table["b"], pa.int64()).dictionary_encode()}}
    for name, columns in kinds.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
        yield folder / f"{name}.parquet", {}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("missing", [(), (3,)], ids=["all", "missing"])
def test_rejects_whole_numbers_that_float64_rounds(start, missing, tmp_path):
    for path, options in files(tmp_path, [start + i for i in range(ROWS)], missing):
        with pytest.raises(UserError, match=rf"'b' has '?{start}"):
            load(path, "y", missing="mean", **options)
        if not missing:
            for task in ("auto", "regression"):
                with pytest.raises(UserError, match=rf"'b' has '?{start}"):
                    load(path, "b", task=task, **options)
        assert load(path, "y", drop=["b"], **options).train_x.shape[1] == 1


@pytest.mark.parametrize("start", EXACT)
def test_whole_numbers_that_float64_has_are_read(start, tmp_path):
    for path, options in files(tmp_path, [start + (i % 7 << 8) for i in range(ROWS)], (3,)):
        load(path, "y", missing="mean", **options)
    decimals = [f"{2**53 + i}.5" if i % 2 else f"{2**53 + i}" for i in range(ROWS)]
    assert load(as_csv(tmp_path / "t.csv", {"a": decimals, "y": decimals}), "y").classes is None


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_rejects_whole_numbers_of_arrays_that_float64_rounds(kind, tmp_path):
    large, x = np.arange(ROWS, dtype=kind) + kind(2**53 + 1), np.random.default_rng(0).random((ROWS, 2))
    images = np.stack([large] * 4, 1).reshape(ROWS, 2, 2)
    for arrays in ({"x": x, "y": large}, {"x": large, "y": x[:, 0]}, {"x": images, "y": x[:, 0]}):
        np.savez(tmp_path / "t.npz", **arrays)
        with pytest.raises(UserError, match=str(2**53 + 1)):
            load(tmp_path / "t.npz")
        np.savez(tmp_path / "t.npz", **{name: array.astype(np.float64) for name, array in arrays.items()})
        load(tmp_path / "t.npz")


def test_rejects_whole_numbers_of_libsvm_that_float64_rounds(tmp_path):
    path = tmp_path / "t.svm"
    for row in ("{large} 1:{i} # {i}", "{i}.5 1:{i} 2:{large}", "{i}.5 1:-{large} 2:{i}"):
        path.write_text("".join(row.format(i=i, large=2**53 + 1 + i) + "\n" for i in range(ROWS)))
        with pytest.raises(UserError, match=str(2**53 + 1)):
            load(path)
    path.write_text("".join(f"{i}.5 1:{i} 2:{2**53 + 2 * i} # {2**53 + 1}\n" for i in range(ROWS)))
    assert load(path).classes is None


CODES = [["1", "01", "001"], ["01234", "10115"], ["-01", "5"], ['"01"', '"12"'], ["01 ", "12"], ["007", "NA", "3"]]


@pytest.mark.parametrize("codes", CODES, ids=ascii)
def test_rejects_leading_zeros_unless_declared_as_words(codes, tmp_path):
    word = next(code for code in codes if "0" in code).strip('" ')
    for mark in ",;":
        x, y = as_table(tmp_path / "x.csv", codes, mark=mark), as_table(tmp_path / "y.csv", WHOLE, codes, mark=mark)
        with pytest.raises(UserError, match=rf"'b' has '{word}' in row .*'dataset.words=\[b\]'"):
            load(x, "y", missing="mean")
        for task in ("auto", "classification", "regression"):
            with pytest.raises(UserError, match=f"'y' has '{word}'"):
                load(y, "y", task=task)
        assert load(x, "y", words=["b"], missing="mean").train_x.shape[1] == 1 + len(set(codes) - {"NA"})
        assert load(x, "y", drop=["b"]).train_x.shape[1] == 1
    rows = {"a": range(ROWS), "b": [codes[i % len(codes)].strip('"') for i in range(ROWS)], "y": WHOLE * (ROWS // 2)}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    with pytest.raises(UserError, match=f"'b' has '{word}'"):
        load(tmp_path / "t.parquet", "y", missing="mean")


@pytest.mark.parametrize("values", [["0", "10"], ["0.5", "1"], ["00.5", "01"], ["1e05", "1e-05"], ["-0", "5"]])
def test_zeros_of_plain_numbers_are_read(values, tmp_path):
    assert load(as_table(tmp_path / "t.csv", values), "y").train_x.shape[1] == 2
