"""Numbers as other programs write them: the right number, or a sentence with the option; never words in silence."""

import bz2
import gzip
import io
import zipfile

import numpy as np
import pytest

from bench.base.errors import UserError
from tests.helpers.tables import load

ROWS = 24
WHOLE = [0, 1]


def as_table(path, values, targets=WHOLE, mark=","):
    rows = [mark.join(map(str, (i, values[i % len(values)], targets[i % len(targets)]))) for i in range(ROWS)]
    path.write_text("\n".join([mark.join("aby"), *rows, ""]))
    return path


def numbers(path, **options):
    a = load(path, "y", standardise=False, **options)
    return sorted(set(np.concatenate([a.train_x, a.test_x])[:, 1].tolist()))


def test_the_point_is_a_thousands_separator_without_naming_the_comma(tmp_path):
    path = as_table(tmp_path / "t.csv", ["1.234", "2.345.678", "500", '"7,5"'])
    assert numbers(path, thousands="point") == [7.5, 500, 1234, 2345678]
    assert numbers(path, thousands="point", decimal="comma") == [7.5, 500, 1234, 2345678]
    for mark in ("comma", "point"):
        with pytest.raises(UserError, match=f"both {mark}"):
            load(path, "y", decimal=mark, thousands=mark)


@pytest.mark.parametrize("values", [["950", "1.101", "875"], ["12", "1.300", "7"], ["-950", "-12.345"]])
def test_points_among_whole_numbers_must_be_explained(values, tmp_path):
    path = as_table(tmp_path / "t.csv", values)
    with pytest.raises(UserError, match=r"dataset.thousands=point .* or dataset.decimal=point"):
        load(path, "y")
    assert numbers(path, thousands="point") == sorted(float(v.replace(".", "")) for v in values)
    assert numbers(path, decimal="point") == pytest.approx(sorted(map(float, values)))


@pytest.mark.parametrize(
    "values", [["1.125", "2", "37"], ["1.250", "2.000"], ["0.125", "950"], ["950", "1.101", "2.5"], ["1950", "1.101"]]
)
def test_decimal_points_need_no_explanation(values, tmp_path):
    assert numbers(as_table(tmp_path / "t.csv", values)) == pytest.approx(sorted(map(float, values)))


def test_a_minus_sign_and_groups_of_two_are_read(tmp_path):
    assert numbers(as_table(tmp_path / "t.csv", ["\u22125", "\u22127.5", "3"])) == [-7.5, -5, 3]
    path = as_table(tmp_path / "t.csv", ['"1,23,456"', '"2,34,567"'])
    assert numbers(path, thousands="comma") == [123456, 234567]
    with pytest.raises(UserError, match=r"dataset.thousands=comma \(read as 123456\)"):
        load(path, "y")


@pytest.mark.parametrize(
    "values",
    [["5kg", "7.5kg"], ["5 km", "7 km"], ["1.5k", "2M"], ["(5)", "7", "(9)"], ["USD 5", "USD 7"], ["5 EUR", "6 EUR"],
     ["12h", "14h"], ["1,5 m²", "2 m²"]],
)  # fmt: skip
def test_numbers_with_units_are_no_words(values, tmp_path):
    quoted = [f'"{value}"' for value in values]
    for path in (as_table(tmp_path / "x.csv", quoted), as_table(tmp_path / "y.csv", WHOLE, quoted)):
        with pytest.raises(UserError, match="a number with a unit"):
            load(path, "y")
    assert load(tmp_path / "y.csv", "y", task="classification").classes == len(values)


@pytest.mark.parametrize(
    "values", [["<=50K", ">50K"], ["10th", "11th"], ["4wd", "2wd"], ["18-25", "26-40"], ["A1", "B2"], ["None", "low"]]
)
def test_words_with_digits_are_words(values, tmp_path):
    assert load(as_table(tmp_path / "t.csv", WHOLE, values), "y").classes == 2
    assert load(as_table(tmp_path / "t.csv", values), "y").train_x.shape[1] == 3


def test_numbers_between_empty_words_are_no_classes(tmp_path):
    for void in ("None", "-"):
        path = as_table(tmp_path / "t.csv", WHOLE, [void, void, void, "5", "7.5"])
        with pytest.raises(UserError, match=f"'y' has numbers, and '{void}' in row 1"):
            load(path, "y")
    for missing in ("#N/A", "n/a", "<NA>", "NaT"):
        with pytest.raises(UserError, match="'y' is to be predicted, and has no value in row 1"):
            load(as_table(tmp_path / "t.csv", WHOLE, [missing, "low", "high"]), "y")


@pytest.mark.parametrize("date", ["1/2/20", "2020-01", "12/31/99"])
def test_short_dates_are_dates(date, tmp_path):
    with pytest.raises(UserError, match="dates or times"):
        load(as_table(tmp_path / "t.csv", [date, "11/12/21"]), "y")


def test_classes_beyond_float64_are_rejected(tmp_path):
    large = [2**53, 2**53 + 1, 5]
    y = np.array([large[i % 3] for i in range(ROWS)])
    np.savez(tmp_path / "t.npz", x=np.random.default_rng(0).random((ROWS, 2)), y=y)
    for path in (tmp_path / "t.npz", as_table(tmp_path / "t.csv", WHOLE, large)):
        with pytest.raises(UserError, match=r"'y' has whole numbers as 900719925474099\d, which are rounded"):
            load(path, "y")
    assert load(as_table(tmp_path / "t.csv", WHOLE, [2**60, 2**61]), "y").classes == 2


def test_words_of_an_array_are_read_as_those_of_a_table(tmp_path):
    x = np.random.default_rng(0).random((ROWS, 2))
    for words, classes in ((["1.5", "2.5"], None), (["1", "10"], 2), (["a", "b"], 2)):
        np.savez(tmp_path / "t.npz", x=x, y=np.array(words * (ROWS // 2)))
        assert load(tmp_path / "t.npz").classes == classes
    for missing in ("", "nan"):
        np.savez(tmp_path / "t.npz", x=x, y=np.array(["a", missing] * (ROWS // 2)))
        with pytest.raises(UserError, match="has no value in row 2"):
            load(tmp_path / "t.npz")


def test_the_first_line_of_excel_names_the_separator(tmp_path):
    plain = as_table(tmp_path / "t.csv", ["1.5", "2.5"]).read_text()
    for mark in ";\t^":
        for end in ("\n", "\r\n"):
            (tmp_path / "t.csv").write_bytes(f"sep={mark}\n{plain.replace(',', mark)}".replace("\n", end).encode())
            assert numbers(tmp_path / "t.csv") == [1.5, 2.5]


def test_a_first_line_of_the_words_of_the_rows_must_be_explained(tmp_path):
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


@pytest.mark.parametrize("encoding", ["punycode", "undefined", "a\0b", "rot13", "latin-99"])
def test_a_wrong_encoding_is_a_sentence(encoding, tmp_path):
    with pytest.raises(UserError, match=r"dataset.encoding"):
        load(as_table(tmp_path / "t.csv", ["1.5", "2.5"]), "y", encoding=encoding)


def test_damaged_archives_are_sentences(tmp_path):
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
    with pytest.raises(UserError, match="'x' is no array"):
        load(tmp_path / "t.npz")
