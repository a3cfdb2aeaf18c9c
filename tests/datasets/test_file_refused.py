"""Errors of unusable data files: the error names the place and the value."""

import datetime
import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.base.errors import UserError
from tests.helpers.cli import refused
from tests.helpers.tables import as_csv, load

HEAD = "a,b,y\n"
GOOD = HEAD + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(20))
BAD: dict[str, tuple[str | bytes, str]] = {
    "empty.csv": (b"", "empty"),
    "only_names.csv": (HEAD, "a, b, y"),
    "twice.csv": (GOOD.replace("a,b", "a,a"), "'a'"),
    "index.csv": (GOOD.replace("a,b", "Unnamed: 0,b"), r"'Unnamed: 0' .*dataset.drop=\['Unnamed: 0'\]"),
    "nameless.csv": (GOOD.replace("a,b", "a,"), "Column 2"),
    "headless.csv": (GOOD.removeprefix(HEAD), "'0,0,0'.*dataset.header=false"),
    "alone.csv": ("y\n" + "1\n0\n" * 9, "'y'"),
    "wide.csv": (GOOD + "1,2,3,4\n", "22.* 4 .* 3 .*','"),
    "wider.csv": (GOOD.replace("\n", ",7\n").replace("y,7", "y"), "2 .* 4 .* 3 "),
    "narrow.csv": (GOOD + "1,2\n", "22.* 2 .* 3 "),
    "binary.csv": (bytes(range(256)) * 9, "0x00"),
    "latin.csv": (GOOD.replace("b,", "größe,").encode("latin-1"), "line 1 .*0xf6.*dataset.encoding=latin-1"),
    "iris.csv": ("5.1,3.5,setosa\n" * 9, "5.1.*dataset.header=false"),
    "comma.csv": (
        "a;b;y\n" + "".join(f"{i},5;{i % 7};{i % 2}\n" for i in range(20)),
        r"'a' has '0,5' in row 1, .* dataset.decimal=comma \(read as 0.5\)\.",
    ),
    "comma_y.csv": ("a;b;y\n" + "".join(f"{i};{i % 7};{i % 2},5\n" for i in range(20)), "'y' has '0,5' in row 1"),
    "either.csv": (
        "a;b;y\n" + "".join(f"{1 + i % 9},250;{i};{i % 2}\n" for i in range(20)),
        r"dataset.decimal=comma \(.* 1.25\) .* dataset.thousands=comma \(.* 1250\)\.",
    ),
    "german.csv": (
        "a;b;y\n" + "".join(f"{1 + i % 9}.250,5;{i};{i % 2}\n" for i in range(20)),
        r"dataset.decimal=comma dataset.thousands=point \(read as 1250.5\)\.",
    ),
    "spaces.csv": (
        HEAD + "".join(f"{1 + i % 9} 250,{i},{i % 2}\n" for i in range(20)),
        r"'a' has '1 250' in row 1, .* dataset.thousands=space \(read as 1250\)\.",
    ),
    "units.csv": (
        HEAD + "1,$5,0\n2,$7.50,1\n" * 9,
        r"'b' has '\$5' in row 1, .*'dataset.words=\[b\]'.*'dataset.drop=\[b\]'",
    ),
    "times.csv": (HEAD + "1,2,12:30\n2,3,3:05 PM\n" * 9, "'12:30'.*dataset.task=classification"),
    "ids.csv": (
        HEAD + "".join(f"{i},n{chr(97 + i)},{i % 2}\n" for i in range(20)),
        r"'b' .* 20 rows.*'dataset.drop=\[b\]'",
    ),
    "each.csv": (HEAD + "".join(f"{i},{i % 7},n{chr(97 + i)}\n" for i in range(20)), "'y' has 20 .* 20 rows.* na"),
    "short.txt": ("a text", "dataset.column is for csv, parquet, npz, LIBSVM files"),
    "hole.csv": (GOOD.replace("3,3,1", "3,,1"), "'b' .* row 4 .*1 of 20 rows.*dataset.missing=mean"),
    "hole_y.csv": (GOOD.replace("3,3,1", "3,3,NA"), "'y' .* row 4"),
    "inf.csv": (GOOD.replace("3,3,1", "3,-inf,1"), "'b' has -inf in row 4"),
    "inf_y.csv": (GOOD.replace("3,3,1", "3,3,inf"), "'y' has inf in row 4"),
    "huge.csv": (GOOD.replace("3,3,1", "3,1e300,1"), r"'b' has 1e\+300 in row 4"),
    "text.csv": (GOOD.replace("3,3,1", "3,three,1"), "'b' has 'three' in row 4"),
    "text_y.csv": (GOOD.replace("3,3,1", "3,3,one"), "'y' has 'one' in row 4"),
    "one.csv": (HEAD + "1,2,5\n3,4,5\n" * 9, "'y', 5"),
    "one_word.csv": (HEAD + "1,2,no\n3,4,no\n" * 9, "'y', no"),
    "constant.csv": (HEAD + "1,z,0\n1,z,1\n" * 9, "constant"),
    "names.csv": (HEAD + "".join(f"{i},{chr(0x4E00 + i)},{i % 2}\n" for i in range(200)), "'b' has 160 .* 100"),
    "void.csv": (HEAD + "1,,0\n2,,1\n" * 9, "'b' .* row 1 .*18 of 18 rows"),
    "few.csv": (HEAD + "1,2,0\n3,4,1\n", "0.2 of 2 is 0"),
    "damaged.csv.gz": (gzip.compress(GOOD.encode())[:-9], "damaged.csv.gz"),
    "csv.npz": (GOOD, "not an npz file"),
    "csv.parquet": (GOOD, "not a Parquet file"),
    "csv.libsvm": (GOOD, "not a LIBSVM file.*'a,b,y'"),
    "word.svm": ("1 1:2 2:3\n0 1:2 2:x\n", "not a LIBSVM file.*'x'"),
    "order.svm": ("1 1:2 2:3\n0 2:2 1:7\n", "not a LIBSVM file.*sorted"),
    "bare.svm": ("1\n0\n", "no features"),
    "unknown.dat": (GOOD, "unknown.dat.* .csv .npz"),
}


@pytest.mark.parametrize("name", BAD)
def test_rejects_a_file_that_is_no_usable_table(name, tmp_path):
    content, reason = BAD[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    column = None if path.suffix in (".svm", ".libsvm", ".npz") else "y"
    with pytest.raises(UserError, match=reason):
        load(path, column)


X = np.random.default_rng(0).random((20, 2))
Y = np.arange(20) % 2
ARRAYS = {
    "objects": ({"x": np.array([{"a": 1}, None] * 10, dtype=object), "y": Y}, "plain arrays"),
    "lengths": ({"x": X, "y": Y[:9]}, "'x' of t.npz has 20 .*'y' has 9"),
    "words": ({"x": X.astype(str), "y": Y}, "'x' of t.npz .*U"),
    "deep": ({"x": X, "y": X.reshape(20, 2, 1)}, r"'y' of t.npz .*float64 .*\(20, 2, 1\)"),
    "none": ({"x": X[:0], "y": Y[:0]}, "'x' of t.npz has no rows"),
    "strange": ({"p": X, "q": Y, "r": Y}, "t.npz .*p, q, r"),
    "shapes": ({"x_train": X, "y_train": Y, "x_test": X[:, :1], "y_test": Y}, r"\(2,\).*\(1,\)"),
    "types": ({"x_train": X, "y_train": Y, "x_test": X, "y_test": Y.astype(str)}, "'y_train' and 'y_test'"),
    "nan": ({"x": np.where(X > 0.9, np.nan, X), "y": Y}, "Column '.* row "),
    "nan_images": ({"x": np.full((20, 2, 2), np.nan), "y": Y}, "row 1"),
    "huge_images": ({"x": X.reshape(20, 2, 1) * 1e300, "y": Y}, r"e\+\d+ in row .*3e38"),
    "long_images": (
        {"x": X.reshape(20, 2, 1).astype(np.longdouble) * np.longdouble(2) ** 1030, "y": Y},
        "inf in row 1",
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_rejects_arrays_that_are_no_samples_with_targets(name, tmp_path):
    arrays, reason = ARRAYS[name]
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(UserError, match=reason):
        load(tmp_path / "t.npz")


def test_a_row_index_of_pandas_is_no_input(tmp_path):
    frame = pd.DataFrame({"a": range(20), "y": [0, 1] * 10}).sample(frac=1, random_state=0)
    for name, table in {"__index_level_0__": frame, "day": frame.rename_axis("day")}.items():
        table.to_parquet(tmp_path / "t.parquet")
        with pytest.raises(UserError, match=rf"'{name}' .*dataset.drop=\['{name}'\].*reset_index\(\)"):
            load(tmp_path / "t.parquet", "y")
        assert load(tmp_path / "t.parquet", "y", drop=[name]).train_x.shape[1] == 1
    for table, inputs in ((frame, 1), (frame.rename_axis("day").reset_index(), 2)):
        table.to_parquet(tmp_path / "t.parquet", index=False)
        assert load(tmp_path / "t.parquet", "y").train_x.shape[1] == inputs


@pytest.mark.parametrize(
    "text",
    ["no JSON", "[7]", "null", *(f'{{"index_columns": {value}}}' for value in ("null", "7", '"ab"', '[{}, "b"]'))],
)
def test_ignores_metadata_of_parquet_files_that_is_not_from_pandas(text, tmp_path):
    table = pa.table({"a": range(20), "y": [0, 1] * 10}).replace_schema_metadata({"pandas": text})
    pq.write_table(table, tmp_path / "t.parquet")
    assert load(tmp_path / "t.parquet", "y").train_x.shape[1] == 1


def test_a_parquet_column_that_is_neither_numbers_nor_words_is_named(tmp_path):
    pq.write_table(pa.table({"x": [[1, 2], [3]], "y": [0, 1]}), tmp_path / "t.parquet")
    with pytest.raises(UserError, match=r"'x' .*list<"):
        load(tmp_path / "t.parquet", "y")
    table = {"x": [datetime.date(2020, 1, 1), None] * 9, "t": [datetime.datetime(2020, 1, 1)] * 18, "y": [0, 1] * 9}
    pq.write_table(pa.table(table), tmp_path / "d.parquet")
    for kept, left_out in ("xt", "tx"):
        with pytest.raises(UserError, match=f"Column '{kept}' .*'2020-01-01"):
            load(tmp_path / "d.parquet", "y", drop=[left_out])


OPTIONS = [
    ("", {}, "dataset.path=PATH"),
    ("nowhere.csv", {}, "nowhere.csv"),
    ("t.csv", {}, "dataset.column=NAME.*a, b, y"),
    ("n.csv", {"column": "prize"}, "n.csv has no column called 'prize'. Did you mean 'price'?"),
    ("t.csv", {"column": "y", "test": 2}, "2 of 20 is 40"),
    ("t.csv", {"column": "y", "drop": ["c"]}, "t.csv has no column called 'c'"),
    ("t.csv", {"column": "y", "encoding": "latin-99"}, "dataset.encoding=latin-99"),
    ("t.csv", {"column": "y", "context": 9}, "dataset.context is for text files"),
    ("w.csv", {"column": "y", "task": "regression"}, "dataset.task=regression.*'y'.*'no'"),
]


def test_rejects_wrong_options(tmp_path):
    (tmp_path / "t.csv").write_text(GOOD)
    as_csv(tmp_path / "n.csv", {"a": range(20), "price": range(20)})
    as_csv(tmp_path / "w.csv", {"a": range(20), "y": ["no", "yes"] * 10})
    for name, options, reason in OPTIONS:
        with pytest.raises(UserError, match=reason):
            load(tmp_path / name if name else None, **options)


def test_rejects_wrong_options_on_the_command_line(tmp_path):
    home, text = tmp_path / "home", tmp_path / "t.txt"
    home.mkdir()
    text.write_text("It was the best of times. " * 99)
    refused(f"dataset=file dataset.path={text}", "module, transformer", home)  # the default model is not for texts
    refused(f"dataset=file dataset.path={text} dataset.task=guess", "dataset.task must be one of auto", home)


def test_rejects_options_that_a_text_file_does_not_use(tmp_path):
    (tmp_path / "t.txt").write_text("to be or not to be, " * 200)
    for option, value in (("missing", "mean"), ("standardize", False)):
        with pytest.raises(UserError, match=rf"dataset\.{option}\b.*t\.txt"):
            load(tmp_path / "t.txt", **{option: value})
    whole, half = (load(tmp_path / "t.txt", test=part) for part in (0.2, 0.5))
    assert len(half.test_x) > len(whole.test_x)


def test_rejects_a_fraction_of_test_rows_for_a_file_with_a_test_set(tmp_path):
    np.savez(tmp_path / "t.npz", X_train=X, y_train=Y, X_test=X, y_test=Y)
    with pytest.raises(UserError, match=r"dataset\.test=0\.5"):
        load(tmp_path / "t.npz", test=0.5)
    assert len(load(tmp_path / "t.npz", test=0.2).test_x) == len(X)
