"""Number formats of other programs: read correctly, or rejected with the option to add."""

import bz2
import gzip
import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.base.errors import UserError
from tests.helpers.tables import ROWS, WHOLE, as_table, load


def numbers(path, **options):
    a = load(path, "y", standardize=False, **options)
    return sorted(set(np.concatenate([a.train_x, a.test_x])[:, 1].tolist()))


def test_the_point_is_a_thousands_separator_without_naming_the_comma(tmp_path):
    path = as_table(tmp_path / "t.csv", ["1.234", "2.345.678", "500", '"7,5"'])
    assert numbers(path, thousands="point") == [7.5, 500, 1234, 2345678]
    assert numbers(path, thousands="point", decimal="comma") == [7.5, 500, 1234, 2345678]
    for mark in ("comma", "point"):
        with pytest.raises(UserError, match=f"dataset.thousands.* {mark}"):
            load(path, "y", decimal=mark, thousands=mark)


@pytest.mark.parametrize("values", [["950", "1.101", "875"], ["12", "1.300", "7"], ["-950", "-12.345"]])
def test_ambiguous_points_are_rejected(values, tmp_path):
    path = as_table(tmp_path / "t.csv", values)
    with pytest.raises(UserError, match=r"dataset.thousands=point .* or dataset.decimal=point"):
        load(path, "y")
    assert numbers(path, thousands="point") == sorted(float(v.replace(".", "")) for v in values)
    assert numbers(path, decimal="point") == pytest.approx(sorted(map(float, values)))


@pytest.mark.parametrize(
    ("values", "options"),
    [(["950", "1.101", "\u2212875"], {}), (["950 ", "1.101 ", "875 "], {}), (['" 950"', '"1.101 "', '"875"'], {}),
     (["950", "1.101", "NA "], {"missing": "mean"}), (["950", "1.101"], {"thousands": "space"}),
     (["950", "1.101"], {"thousands": "apostrophe"})],
    ids=ascii,
)  # fmt: skip
def test_ambiguous_points_are_rejected_in_every_notation(values, options, tmp_path):
    path = as_table(tmp_path / "t.csv", values)
    with pytest.raises(UserError, match=r"1\.101.*dataset.thousands=point"):
        load(path, "y", **options)
    assert 1101 in numbers(path, **(options | {"thousands": "point"}))
    assert load(path, "y", **(options | {"decimal": "point"})).classes == 2
    assert load(path, "y", drop=["b"]).train_x.shape[1] == 1


def test_ambiguous_points_are_rejected_in_words(tmp_path):
    rows = ["950", "1.101", "875"] * (ROWS // 3)
    pq.write_table(pa.table({"a": rows, "y": WHOLE * (ROWS // 2)}), tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", x=np.arange(ROWS), y=np.array(rows))
    for path, column in ((tmp_path / "t.parquet", "y"), (tmp_path / "t.npz", None)):
        with pytest.raises(UserError, match=r"1\.101"):
            load(path, column)
        load(path, column, decimal="point")
    assert load(tmp_path / "t.npz", thousands="point", task="regression").classes is None


@pytest.mark.parametrize(
    "values", [["1.125", "2", "37"], ["1.250", "2.000"], ["0.125", "950"], ["950", "1.101", "2.5"], ["1950", "1.101"]]
)
def test_unambiguous_decimal_points_are_read(values, tmp_path):
    assert numbers(as_table(tmp_path / "t.csv", values)) == pytest.approx(sorted(map(float, values)))


def test_a_minus_sign_and_groups_of_two_are_read(tmp_path):
    assert numbers(as_table(tmp_path / "t.csv", ["\u22125", "\u22127.5", "3"])) == [-7.5, -5, 3]
    path = as_table(tmp_path / "t.csv", ['"1,23,456"', '"2,34,567"'])
    assert numbers(path, thousands="comma") == [123456, 234567]
    with pytest.raises(UserError, match=r"dataset.thousands=comma .*123456"):
        load(path, "y")
    for blank in " \u00a0\u2007\u2009\u202f":
        path = as_table(tmp_path / "t.csv", [f"1{blank}234", "7.5"])
        assert numbers(path, thousands="space") == [7.5, 1234]
        with pytest.raises(UserError, match=r"dataset.thousands=space"):
            load(path, "y")


@pytest.mark.timeout(30)
def test_a_long_number_beside_an_underscore_takes_no_time(tmp_path):
    """The time does not grow with the square of its length."""
    text = "1 1:0.5 # made_by_me\n" + "-1 1:2\n" * 12 + "1 1:3\n" * 12
    (tmp_path / "t.libsvm").write_text(f"{text}1 1:0.{'3' * 1_000_000}\n")
    assert len(load(tmp_path / "t.libsvm").train_x) == 21


def test_numbers_have_no_underscores(tmp_path):
    for column in ({"values": ["1_1", "1_2"]}, {"values": WHOLE, "targets": ["1_1", "2_1"]}):
        with pytest.raises(UserError, match="_1"):
            load(as_table(tmp_path / "t.csv", **column), "y")
    plain = [f"{i % 2} 1:{i} 2:15 # a_b\n" for i in range(ROWS)]
    (tmp_path / "t.svm").write_text("".join(plain))
    assert load(tmp_path / "t.svm").classes == 2
    (tmp_path / "t.svm").write_text("".join(plain).replace("2:15", "2:1_5"))
    with pytest.raises(UserError, match="2:1_5"):
        load(tmp_path / "t.svm")


def test_images_of_long_double_are_read(tmp_path):
    x = np.random.default_rng(0).random((ROWS, 4, 4))
    for kind in (np.float64, np.longdouble):
        np.savez(tmp_path / f"{kind.__name__}.npz", x=x.astype(kind), y=np.arange(ROWS, dtype=kind) % 2)
    a, b = load(tmp_path / "float64.npz"), load(tmp_path / "longdouble.npz")
    assert a.train_x.dtype == b.train_x.dtype
    assert (a.train_x == b.train_x).all()


@pytest.mark.parametrize("scale", [2.0**-13, 1.0, 2.0**9])
def test_the_deviation_of_images_does_not_depend_on_their_type(tmp_path, scale):
    x = (np.random.default_rng(0).normal(5, 1, (ROWS, 3, 3)) * scale).astype(np.float16)
    seen = set()
    for kind in (np.float16, np.float32, np.float64):
        np.savez(tmp_path / "t.npz", x=x.astype(kind), y=np.arange(ROWS) % 2)
        a = load(tmp_path / "t.npz")
        assert a.sd == pytest.approx(a.train_x.astype(np.float64).std(), rel=1e-12)
        seen.add((a.mean, a.sd, a.notes))
    assert len(seen) == 1


def test_images_of_large_float32_are_standardized(tmp_path):
    x = (np.random.default_rng(0).normal(0, 1e21, (ROWS, 3, 3))).astype(np.float32)
    np.savez(tmp_path / "t.npz", x=x, y=np.arange(ROWS) % 2)
    assert load(tmp_path / "t.npz").sd == pytest.approx(1e21, rel=0.2)


def test_words_of_an_array_are_read_as_those_of_a_table(tmp_path):
    x = np.random.default_rng(0).random((ROWS, 2))
    for words, classes in ((["1.5", "2.5"], None), (["1", "10"], 2), (["a", "b"], 2)):
        np.savez(tmp_path / "t.npz", x=x, y=np.array(words * (ROWS // 2)))
        assert load(tmp_path / "t.npz").classes == classes
    for missing in ("", "nan"):
        np.savez(tmp_path / "t.npz", x=x, y=np.array(["a", missing] * (ROWS // 2)))
        with pytest.raises(UserError, match="row 2"):
            load(tmp_path / "t.npz")


def test_the_first_line_of_excel_names_the_separator(tmp_path):
    plain = as_table(tmp_path / "t.csv", ["1.5", "2.5"]).read_text()
    for mark in ";\t^":
        for end in ("\n", "\r\n"):
            (tmp_path / "t.csv").write_bytes(f"sep={mark}\n{plain.replace(',', mark)}".replace("\n", end).encode())
            assert numbers(tmp_path / "t.csv") == [1.5, 2.5]


def test_rejects_a_first_line_whose_words_occur_in_the_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("red,small,yes\nblue,big,no\nred,small,no\nblue,small,yes\n" * 6)
    with pytest.raises(UserError, match=r"add dataset.header=false"):
        load(path, "yes")
    assert len(load(path, "3", header=False).train_y) + len(load(path, "3", header=False).test_y) == 24
    assert load(path, "yes", header=True).classes == 2


def test_the_mark_of_an_encoding_is_no_part_of_a_name(tmp_path):
    text = as_table(tmp_path / "t.csv", ["1.5", "2.5"]).read_text()
    for encoding, named in (("utf-8-sig", "utf-8"), ("utf-16", "utf-16-le")):
        (tmp_path / "t.csv").write_bytes(text.encode(encoding))
        assert load(tmp_path / "t.csv", "a", encoding=named).classes is None


def test_rejects_a_first_row_of_decimal_commas_between_semicolons(tmp_path):
    path = tmp_path / "t.csv"
    for row in ("{i},5;{label}\n", "{label};{i},25\n", "{i},5;-{i},5;{label}\n"):
        path.write_text("".join(row.format(i=i, label=i % 2) for i in range(ROWS)))
        for column in ("1", "2"):
            with pytest.raises(UserError, match=r"dataset.decimal=comma.*sep=,"):
                load(path, column, header=False, task="classification")
        load(path, "2", header=False, decimal="comma", task="regression")


@pytest.mark.parametrize("encoding", ["punycode", "undefined", "a\0b", "rot13", "latin-99"])
def test_rejects_an_unknown_encoding(encoding, tmp_path):
    with pytest.raises(UserError, match=r"dataset.encoding"):
        load(as_table(tmp_path / "t.csv", ["1.5", "2.5"]), "y", encoding=encoding)


def test_rejects_damaged_archives(tmp_path):
    text = as_table(tmp_path / "t.csv", ["1.5", "2.5"]).read_bytes() * 50
    arrays = io.BytesIO()
    np.savez_compressed(arrays, x=np.arange(10000).reshape(500, 20) % 7, y=np.arange(500) % 2)
    archives = {"t.csv.gz": gzip.compress(text), "t.csv.bz2": bz2.compress(text), "t.npz": arrays.getvalue()}
    for name, content in archives.items():
        for place in (60, 100, len(content) // 2):
            damaged = bytearray(content)
            damaged[place] ^= 0xFF
            (tmp_path / name).write_bytes(damaged)
            with pytest.raises(UserError, match=name):
                load(tmp_path / name, None if name == "t.npz" else "y")
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("x", "<a/>")
        archive.writestr("y", "<b/>")
    with pytest.raises(UserError, match="'x'"):
        load(tmp_path / "t.npz")
