"""What is no table, or none that can be learned from, is answered with a sentence that says where."""

import datetime
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.base.errors import UserError
from tests.helpers.cli import refused
from tests.helpers.tables import as_csv, load

HEAD = "a,b,y\n"
GOOD = HEAD + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(20))
BAD = {
    "empty.csv": (b"", "empty.csv is empty."),
    "only_names.csv": (HEAD, "only_names.csv has columns (a, b, y) and no rows."),
    "twice.csv": (
        GOOD.replace("a,b", "a,a"),
        "twice.csv has several columns called 'a'",
    ),
    "nameless.csv": (GOOD.replace("a,b", "a,"), "Column 2 of nameless.csv has no name in the first line."),
    "headless.csv": (
        GOOD.removeprefix(HEAD),
        "The first line of headless.csv has numbers ('0,0,0'). If it is a row of data, add dataset.header=false",
    ),
    "alone.csv": ("y\n" + "1\n0\n" * 9, "alone.csv has no column but 'y': there is nothing to predict it from."),
    "wide.csv": (GOOD + "1,2,3,4\n", "Line 22 of wide.csv has 4 values, the first line 3 (separated by ',')."),
    "wider.csv": (GOOD.replace("\n", ",7\n").replace("y,7", "y"), "Line 2 of wider.csv has 4 values, the first line 3"),
    "narrow.csv": (GOOD + "1,2\n", "Line 22 of narrow.csv has 2 values, the first line 3"),
    "binary.csv": (bytes(range(256)) * 9, "binary.csv is not text: it holds bytes 0x00."),
    "latin.csv": (
        GOOD.replace("b,", "größe,").encode("latin-1"),
        "line 1 has the byte 0xf6. Name its encoding, as in ",
    ),
    "iris.csv": ("5.1,3.5,setosa\n" * 9, "The first line of iris.csv has numbers"),
    "comma.csv": (
        "a;b;y\n" + "".join(f"{i},5;{i % 7};{i % 2}\n" for i in range(20)),
        "Column 'a' has '0,5' in row 1, a number with another decimal mark or with thousands separators. Add "
        "dataset.decimal=comma (read as 0.5).",
    ),
    "comma_y.csv": (
        "a;b;y\n" + "".join(f"{i};{i % 7};{i % 2},5\n" for i in range(20)),
        "Column 'y' has '0,5' in row 1, a number with another decimal mark",
    ),
    "either.csv": (
        "a;b;y\n" + "".join(f"{1 + i % 9},250;{i};{i % 2}\n" for i in range(20)),
        "Add dataset.decimal=comma (read as 1.25) or dataset.thousands=comma (read as 1250).",
    ),
    "german.csv": (
        "a;b;y\n" + "".join(f"{1 + i % 9}.250,5;{i};{i % 2}\n" for i in range(20)),
        "Add dataset.decimal=comma dataset.thousands=point (read as 1250.5).",
    ),
    "spaces.csv": (
        HEAD + "".join(f"{1 + i % 9} 250,{i},{i % 2}\n" for i in range(20)),
        "Column 'a' has '1 250' in row 1, a number with another decimal mark or with thousands separators. Add "
        "dataset.thousands=space (read as 1250).",
    ),
    "units.csv": (
        HEAD + "1,$5,0\n2,$7.50,1\n" * 9,
        "Column 'b' has '$5' in row 1, which may be a number, a date or a time. Write plain numbers: units belong in "
        "the column's name, dates become days since a start. If they are categories, add 'dataset.words=[b]'. To skip "
        "the column, add 'dataset.drop=[b]'.",
    ),
    "times.csv": (HEAD + "1,2,12:30\n2,3,3:05 PM\n" * 9, "If they are classes, add dataset.task=classification."),
    "ids.csv": (
        HEAD + "".join(f"{i},n{chr(97 + i)},{i % 2}\n" for i in range(20)),
        "Column 'b' has another word in each of its 20 rows: nothing can be learned from it. Leave it out: "
        "'dataset.drop=[b]'.",
    ),
    "each.csv": (
        HEAD + "".join(f"{i},{i % 7},n{chr(97 + i)}\n" for i in range(20)),
        "'y' has 20 different values in 20 rows, as na: too many for classes",
    ),
    "short.txt": (
        "a text",
        "dataset.column is for csv and parquet and npz and LIBSVM files; short.txt is read as text.",
    ),
    "hole.csv": (GOOD.replace("3,3,1", "3,,1"), "Column 'b' has no value in row 4 (1 of 20 rows): fill them in, or "),
    "hole_y.csv": (GOOD.replace("3,3,1", "3,3,NA"), "'y' is to be predicted, and has no value in row 4."),
    "inf.csv": (GOOD.replace("3,3,1", "3,-inf,1"), "Column 'b' has -inf in row 4; numbers must be at most 3e38"),
    "inf_y.csv": (GOOD.replace("3,3,1", "3,3,inf"), "Column 'y' has inf in row 4; numbers must be at most"),
    "huge.csv": (GOOD.replace("3,3,1", "3,1e300,1"), "Column 'b' has 1e+300 in row 4; numbers must be at most"),
    "text.csv": (GOOD.replace("3,3,1", "3,three,1"), "Column 'b' has 'three' in row 4, among numbers. Write numbers "),
    "text_y.csv": (GOOD.replace("3,3,1", "3,3,one"), "Column 'y' has 'one' in row 4, among numbers. Write numbers "),
    "one.csv": (HEAD + "1,2,5\n3,4,5\n" * 9, "All rows have the same 'y', 5: there is nothing to learn."),
    "one_word.csv": (HEAD + "1,2,no\n3,4,no\n" * 9, "All rows have the same 'y', no: there is nothing to learn."),
    "constant.csv": (HEAD + "1,z,0\n1,z,1\n" * 9, "Every column is constant in the rows for training"),
    "names.csv": (
        HEAD + "".join(f"{i},{chr(0x4E00 + i)},{i % 2}\n" for i in range(200)),
        "Column 'b' has 160 different words",
    ),
    "void.csv": (HEAD + "1,,0\n2,,1\n" * 9, "Column 'b' has no value in row 1 (18 of 18 rows)"),
    "few.csv": (HEAD + "1,2,0\n3,4,1\n", "rows to test on, between 0 and 1; 0.2 of 2 is 0."),
    "damaged.csv.gz": (gzip.compress(GOOD.encode())[:-9], "damaged.csv.gz cannot be read: "),
    "csv.npz": (GOOD, "csv.npz is not an npz file, which is a zip archive of arrays."),
    "csv.parquet": (GOOD, "csv.parquet is not a parquet file: "),
    "csv.libsvm": (GOOD, "csv.libsvm is not a LIBSVM file: could not convert string to float: b'a,b,y'."),
    "word.svm": ("1 1:2 2:3\n0 1:2 2:x\n", "word.svm is not a LIBSVM file: could not convert string to float: b'x'."),
    "order.svm": (
        "1 1:2 2:3\n0 2:2 1:7\n",
        "order.svm is not a LIBSVM file: Feature indices in SVMlight/LibSVM data file should be sorted",
    ),
    "bare.svm": ("1\n0\n", "bare.svm has labels and no features."),
    "unknown.dat": (GOOD, "unknown.dat cannot be told by its name; it should end with one of .csv .npz"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_used_is_answered_with_a_sentence(name, tmp_path):
    content, sentence = BAD[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    column = None if path.suffix in (".svm", ".libsvm", ".npz") else "y"
    with pytest.raises(UserError) as error:
        load(path, column)
    assert sentence in str(error.value)


X = np.random.default_rng(0).random((20, 2))
Y = np.arange(20) % 2
ARRAYS = {
    "objects": (
        {"x": np.array([{"a": 1}, None] * 10, dtype=object), "y": Y},
        "is not an npz file of plain arrays: ",
    ),
    "lengths": ({"x": X, "y": Y[:9]}, "The array 'x' of t.npz has 20 rows and 'y' 9."),
    "words": ({"x": X.astype(str), "y": Y}, "The array 'x' of t.npz must be numbers, a row per sample; it is of type "),
    "deep": ({"x": X, "y": X.reshape(20, 2, 1)}, "must have a number or a word per sample; it is of type float64 and "),
    "none": ({"x": X[:0], "y": Y[:0]}, "The array 'x' of t.npz has no rows."),
    "strange": (
        {"p": X, "q": Y, "r": Y},
        "t.npz must have arrays x and y, or X_train, y_train, X_test and ",
    ),
    "shapes": (
        {"x_train": X, "y_train": Y, "x_test": X[:, :1], "y_test": Y},
        "a training input has shape (2,)",
    ),
    "nan": ({"x": np.where(X > 0.9, np.nan, X), "y": Y}, "Column '"),
    "nan_images": (
        {"x": np.full((20, 2, 2), np.nan), "y": Y},
        "The array of inputs has no value in row 1.",
    ),
    "huge_images": ({"x": X.reshape(20, 2, 1) * 1e300, "y": Y}, "numbers must be at most 3e38."),
    "long_images": (
        {"x": X.reshape(20, 2, 1).astype(np.longdouble) * np.longdouble(2) ** 1030, "y": Y},
        "has inf in row 1",
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_cannot_be_used_are_answered_with_a_sentence(name, tmp_path):
    arrays, sentence = ARRAYS[name]
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(UserError) as error:
        load(tmp_path / "t.npz")
    assert sentence in str(error.value)


def test_a_parquet_column_that_is_neither_numbers_nor_words_is_named(tmp_path):
    pq.write_table(pa.table({"x": [[1, 2], [3]], "y": [0, 1]}), tmp_path / "t.parquet")
    with pytest.raises(UserError, match=r"'x' .*ndarray"):
        load(tmp_path / "t.parquet", "y")
    table = {"x": [datetime.date(2020, 1, 1), None] * 9, "t": [datetime.datetime(2020, 1, 1)] * 18, "y": [0, 1] * 9}
    pq.write_table(pa.table(table), tmp_path / "d.parquet")
    for kept, left_out in ("xt", "tx"):
        with pytest.raises(UserError, match=f"Column '{kept}' has dates or times, as '2020-01-01"):
            load(tmp_path / "d.parquet", "y", drop=[left_out])


def test_wrong_options_are_sentences(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    path = tmp_path / "t.csv"
    path.write_text(GOOD)
    text = tmp_path / "t.txt"
    text.write_text("It was the best of times. " * 99)
    near = as_csv(tmp_path / "n.csv", {"a": range(20), "price": range(20)})
    for words, sentence in (
        ("", "dataset=file needs dataset.path=PATH."),
        ("dataset.path=nowhere.csv", "dataset.path: there is no file"),
        (f"dataset.path={path}", "dataset=file needs dataset.column=NAME, what is to be predicted; t.csv has a, b, y."),
        (f"dataset.path={near} dataset.column=prize", "n.csv has no column called 'prize'. Did you mean 'price'?"),
        (f"dataset.path={path} dataset.column=y dataset.test=2", "dataset.test is the part of the rows"),
        (f"dataset.path={path} dataset.column=y dataset.drop=[c]", "t.csv has no column called 'c'"),
        (f"dataset.path={path} dataset.column=y dataset.encoding=latin-99", "dataset.encoding=latin-99 is not known"),
        (f"dataset.path={path} dataset.column=y dataset.context=9", "dataset.context is for text files; t.csv is read"),
        (f"dataset.path={text}", "inputs of dataset=file are a text. Use another model: module, transformer."),
        (f"dataset.path={path} dataset.column=y dataset.task=guess", "dataset.task must be one of auto"),
    ):
        refused(f"dataset=file {words}", sentence, home)
    with pytest.raises(UserError, match=r"dataset.task=regression.*'y'.*'no'"):
        load(as_csv(tmp_path / "w.csv", {"a": range(20), "y": ["no", "yes"] * 10}), "y", task="regression")
