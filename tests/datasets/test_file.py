"""Data files of the user: a table gives the same data in every format, and the notes report every decision."""

import bz2
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.base.errors import UserError
from bench.problem.arrays import Arrays
from tests.helpers.cli import typed
from tests.helpers.configs import config
from tests.helpers.tables import as_csv, load

ROWS = 50


def numbers() -> tuple[np.ndarray, np.ndarray]:
    """Three columns that any format can hold, one of them mostly zeros, and labels."""
    g = np.random.default_rng(3)
    x = np.column_stack([g.standard_normal(ROWS), 1e5 * g.random(ROWS), g.integers(0, 2, ROWS)])
    return x, g.integers(0, 3, ROWS)


def as_libsvm(path: Path, x: np.ndarray, y: np.ndarray) -> Path:
    pairs = [" ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1) if value) for row in x.tolist()]
    path.write_text("".join(f"{label} {row}\n" for label, row in zip(y.tolist(), pairs, strict=True)))
    return path


def same(one: Arrays, two: Arrays) -> None:
    for part in ("train_x", "train_y", "test_x", "test_y"):
        a, b = getattr(one, part), getattr(two, part)
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), part
    assert (one.classes, one.unit) == (two.classes, two.unit)


def every_format(tmp_path: Path, x: np.ndarray, y: np.ndarray) -> list[Arrays]:
    table = dict(zip("abc", x.T.tolist(), strict=True)) | {"y": y.tolist()}
    plain = as_csv(tmp_path / "t.csv", table)
    semicolons = as_csv(tmp_path / "s.csv", table, " ; ")
    (tmp_path / "z.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    np.savez(tmp_path / "t.npz", X=x, y=y)
    np.savez_compressed(tmp_path / "named.npz", stuff=x, goal=y)
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    svm = as_libsvm(tmp_path / "t.libsvm", x, y)
    (tmp_path / "unnamed").write_bytes(svm.read_bytes())
    (tmp_path / "t.svm.bz2").write_bytes(bz2.compress(svm.read_bytes()))
    return [
        *(load(path, "y") for path in (plain, semicolons, tmp_path / "z.csv.gz", tmp_path / "t.parquet")),
        *(load(tmp_path / name, column) for name, column in (("t.npz", None), ("t.npz", "y"), ("named.npz", "goal"))),
        *(load(tmp_path / name) for name in ("t.libsvm", "unnamed", "t.svm.bz2")),
    ]


def test_the_same_table_is_the_same_classes_from_every_format(tmp_path):
    x, y = numbers()
    first, *others = every_format(tmp_path, x, y)
    for other in others:
        same(first, other)
    assert first.classes == 3
    assert (len(first.train_y), len(first.test_y)) == (40, 10)
    assert np.allclose(first.train_x.mean(0, dtype=float), 0, atol=1e-6)
    assert np.allclose(first.train_x.std(0, dtype=float), 1, atol=1e-6)
    together = np.concatenate([first.train_y, first.test_y])
    assert np.bincount(together).tolist() == np.bincount(y).tolist()
    # the rows of either part are in the order of the file, and what they hold is what they held
    raw = load(tmp_path / "t.csv", "y", standardize=False)
    for inputs, labels in ((raw.train_x, raw.train_y), (raw.test_x, raw.test_y)):
        order = [int(np.flatnonzero((x.astype(np.float32) == row).all(1))[0]) for row in inputs]
        assert order == sorted(order)
        assert labels.tolist() == y[order].tolist()


def test_the_same_table_is_the_same_numbers_from_every_format(tmp_path):
    x, _ = numbers()
    y = 1000 + 30 * np.random.default_rng(5).standard_normal(ROWS)
    first, *others = every_format(tmp_path, x, y)
    for other in others:
        same(first, other)
    assert first.classes is None
    assert first.train_y.mean() == pytest.approx(0, abs=1e-12)
    assert first.train_y.std() == pytest.approx(1)
    apart = np.sort(np.concatenate([first.train_y, first.test_y])) * first.unit
    assert np.diff(apart) == pytest.approx(np.diff(np.sort(y)))  # in the units of the file


def test_arrays_with_a_part_for_testing_and_more_dimensions(tmp_path):
    g = np.random.default_rng(0)
    images = g.integers(0, 256, (30, 4, 5), dtype=np.uint8)
    words = np.array(["cat", "dog", "ant"])[g.integers(0, 3, 30)]
    np.savez(tmp_path / "i.npz", X_train=images[:20], y_train=words[:20], X_test=images[20:], y_test=words[20:])
    a = load(tmp_path / "i.npz")
    assert a.train_x.tobytes() == images[:20].tobytes()
    assert a.test_x.dtype == np.uint8
    assert (a.mean, a.sd) == pytest.approx((images[:20].mean(), images[:20].std()))
    assert [["ant", "cat", "dog"][label] for label in a.test_y] == words[20:].tolist()
    assert any("0 = ant, 1 = cat, 2 = dog" in note for note in a.notes)
    raw = load(tmp_path / "i.npz", standardize=False)
    assert (raw.mean, raw.sd) == (0.0, 1.0)
    # several numbers to predict: means of their own, one unit
    np.savez(tmp_path / "two.npz", x=g.random((30, 2)), y=np.column_stack([g.random(30), 9 + 5 * g.random(30)]))
    two = load(tmp_path / "two.npz")
    assert two.train_y.mean(0) == pytest.approx([0, 0], abs=1e-12)
    assert (two.train_y**2).mean() == pytest.approx(1)


COLORS = ["red", "green", "blue", "red", "green"] * 10


def test_words_become_columns_and_notes_report_every_decision(tmp_path):
    values = {
        "color": COLORS,
        "size": [*range(1, 50), "?"],
        "same": [7] * ROWS,
        "flag": ["true", "false"] * 25,
        "day": ["monday", "tuesday", "sunday"] * 16 + ["sunday"] * 2,
        "y": ["no", "yes"] * 25,
    }
    path = as_csv(tmp_path / "t.csv", values)
    a = load(path, "y", missing="mean")
    assert a.train_x.shape == (40, 3 + 1 + 1 + 1 + 3)
    hot = np.concatenate([a.train_x, a.test_x])[:, :3]  # blue, green, red
    assert hot.sum(0).tolist() == [10, 20, 20]
    assert (hot.sum(1) == 1).all()
    assert not a.train_x[:, 4].any()  # a constant says nothing, and is 0
    filled = np.concatenate([a.train_x, a.test_x])[:, 3]
    assert (filled == 0).sum() >= 1  # the mean of the known
    first, target, split, *columns = a.notes
    assert "50 rows" in first
    assert target.endswith(": 0 = no, 1 = yes")
    assert re.findall(r"\d+", split) == ["40", "10"]
    assert [line.rpartition(": ")[2] for line in columns] == [
        "size, flag",  # standardized
        "color (3), day (3)",  # one-hot
        "size (1 rows, the mean)",  # filled
        "same",  # constant
    ]
    with pytest.raises(UserError, match=r"'size' .*row 50 \(1 of 50.*dataset.missing=mean"):
        load(path, "y")


def test_a_word_that_only_testing_rows_have_is_all_zeros(tmp_path):
    first = load(as_csv(tmp_path / "a.csv", {"n": range(ROWS), "y": [0, 1] * 25}), "y", standardize=False)
    tested = int(first.test_x[0, 0])
    colors = [*COLORS[:tested], "ultraviolet", *COLORS[tested + 1 :]]
    a = load(as_csv(tmp_path / "b.csv", {"color": colors, "y": [0, 1] * 25}), "y")
    assert a.test_x[0].tolist() == [0, 0, 0]
    assert any(note.endswith(": color (ultraviolet)") for note in a.notes)


def test_the_task_follows_from_the_column_unless_it_is_given(tmp_path):
    x = np.random.default_rng(0).standard_normal(ROWS)
    few, many, parts = np.arange(ROWS) % 4, np.arange(ROWS), np.arange(ROWS) % 4 + 0.5
    path = as_csv(tmp_path / "t.csv", {"x": x, "few": few, "many": many, "parts": parts})
    assert load(path, "few").classes == 4
    assert load(path, "many").classes is load(path, "parts").classes is None
    assert load(path, "few", task="regression").classes is None
    assert load(path, "parts", task="classification").classes == 4
    assert load(path, "many", standardize=False).unit == 1.0


def test_decimal_commas_and_thousands_separators_are_read_when_named(tmp_path):
    """A table as a German, a French, a Swiss and an American program write it is the same table."""
    g = np.random.default_rng(2)
    values = {name: (1e4 * g.standard_normal(ROWS)).round(1).tolist() for name in "aby"}
    plain = load(as_csv(tmp_path / "plain.csv", values), "y")
    marks = {"german": (",", "."), "french": (",", "\u202f"), "swiss": (".", "'"), "american": (".", ",")}
    words = {",": "comma", ".": "point", "\u202f": "space", "'": "apostrophe"}
    for name, (decimal, thousands) in marks.items():
        written = {
            key: [f"{v:,.1f}".translate(str.maketrans(",.", thousands + decimal)) for v in column]
            for key, column in values.items()
        }
        path = as_csv(tmp_path / f"{name}.csv", written, ";")
        same(plain, load(path, "y", decimal="comma" if decimal == "," else None, thousands=words[thousands]))
        with pytest.raises(UserError, match=f"dataset.*{words[thousands]}"):
            load(path, "y")
    quoted = {key: [f'"{v}"'.replace(".", ",") for v in column] for key, column in values.items()}
    same(plain, load(as_csv(tmp_path / "quoted.csv", quoted), "y", decimal="comma"))


def test_a_file_without_names_in_another_encoding_and_with_columns_to_leave_out(tmp_path):
    values = {"größe": range(ROWS), "farbe": COLORS, "y": [0, 1] * 25}
    plain = load(as_csv(tmp_path / "plain.csv", values), "y")
    text = (tmp_path / "plain.csv").read_text()
    for encoding in ("latin-1", "utf-16"):
        (tmp_path / "other.csv").write_bytes(text.encode(encoding))
        same(plain, load(tmp_path / "other.csv", "y", encoding=encoding))
        with pytest.raises(UserError, match=f"dataset.encoding={encoding}"):
            load(tmp_path / "other.csv", "y")
    (tmp_path / "bare.csv").write_text(text.partition("\n")[2])
    same(plain, load(tmp_path / "bare.csv", "3", header=False))
    more = {"id": [f"n{i}" for i in range(ROWS)], **values, "day": ["2020-01-02"] * ROWS}
    same(plain, load(as_csv(tmp_path / "more.csv", more), "y", drop=["id", "day"]))
    years = load(
        as_csv(tmp_path / "years.csv", {"2019": range(ROWS), "2020": COLORS, "2021": [0, 1] * 25}), "2021", header=True
    )
    same(plain, years)


def test_a_text_is_read_by_characters(tmp_path):
    text = "It is a truth universally acknowledged, æøå 中. " * 20
    (tmp_path / "t.txt").write_text(text, encoding="utf-8")
    a = load(tmp_path / "t.txt", context=16, test=0.25)
    alphabet = sorted(set(text))
    assert (a.tokens, a.classes) == (True, len(alphabet))
    assert "".join(alphabet[code] for code in a.train_x.ravel()) == text[: a.train_x.size]
    assert "".join(alphabet[code] for code in a.test_y.ravel()) == text[len(text) * 3 // 4 + 1 :][: a.test_y.size]
    assert (a.train_x.ravel()[1:] == a.train_y.ravel()[:-1]).all()
    (tmp_path / "t.txt").write_text("".join(map(chr, range(0x4E00, 0x4E00 + 999))), encoding="utf-8")
    assert load(tmp_path / "t.txt").classes == 999
    x, y = numbers()
    same(load(as_libsvm(tmp_path / "rows.txt", x, y)), load(as_libsvm(tmp_path / "rows.svm", x, y)))


def test_a_run_on_a_file_is_known_by_what_is_in_it(tmp_path):
    """Its name is the same wherever the file lies and another one when a number changes; RMSE is in its units."""
    g = np.random.default_rng(0)
    x = g.standard_normal((400, 2))
    y = 500 + 100 * x[:, 0] - 50 * x[:, 1] + g.standard_normal(400)
    table = {"a": x[:, 0], "b": x[:, 1], "price": y}
    one = as_csv(tmp_path / "one.csv", table)
    (tmp_path / "elsewhere").mkdir()
    two = as_csv(tmp_path / "elsewhere" / "two.csv", table)
    three = as_csv(tmp_path / "three.csv", {**table, "price": y + 1})
    names = {
        path: config(dataset={"name": "file", "path": str(path), "column": "price"}).run_id
        for path in (one, two, three)
    }
    assert names[one] == names[two] != names[three]
    less = config(dataset={"name": "file", "path": str(one), "column": "price", "drop": ["a", "b"]})
    assert less.run_id not in names.values()
    assert less.labels()["dataset.drop"] == "a, b"  # what figures and tables group runs by
    words = ("dataset=file", f"dataset.path={one}", "dataset.column=price", "steps=200", "engine=stacked")
    done = typed(*words, "algo=dsgd", "algo.eta=0.1", "partition=by_label", "nodes=4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "results/runs").iterdir()
    end = json.loads((run / "summary.json").read_text())
    assert 0.5 < end["test_rmse"] < 5  # the noise has deviation 1, the prices one of 112
    prepared = json.loads((run / "manifest.json").read_text())["data"]["prepared"]
    assert all(done.stderr.count(line) == 1 for line in prepared), done.stderr
    assert "price" in prepared[1]
    assert "400 different numbers" in prepared[1]
