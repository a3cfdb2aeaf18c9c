"""Words that may be numbers, dates or missing values are rejected unless the user declares them as words."""

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.base.errors import UserError
from tests.helpers.tables import ROWS, WHOLE, as_table, load

UNITS = """5kg,7.5kg|5 km,7 km|1.5k,2M|USD 5,USD 7|5 EUR,6 EUR|12h,14h|5s,7s|5 minutes,7 minutes|5 dB,7 dB|5°,7°|₹5,₹7
5-,7-|–5,–7|1´234,5´678|1.5D+03,2.5D+03|5×10^3,7×10^3|١٫٥,٢٫٥|0x1F,0x2A|1/2,3/4|½,¼|3:1,4:1|1_1,1_2|(5),(7),9
5%,7%|5‰,7|€5,€7|1`234,5`678|1\u2008234,5\u2008678|1.5E 3,2.5E 3|1.5*^3,2.5*^3|- 5,- 7|'1.5','2.5'|1·5,2·5|~5,<7"""
DATES = """2020-01-01,2020-01-02|1/2/20,11/12/21|2020-01,2020-02|12:30,3:05 PM|3 Jan 2020,4 May 2021|Jan 2020,Feb 2020
2020-01-01 12:00:00+00,2020-01-02 12:00:00+00|2020-01-01 12:00:00 UTC,2020-01-02 12:00:00 UTC|20200101T120000,20200102T1
Mon Jan  3 12:00:00 2020,Tue Jan  4 12:00:00 2020|Jan-20,Feb-20|20-Jan,21-Jan|01/2020,02/2020|2020Q1,2020Q2
2020-W01,2020-W02|3rd Jan 2020,4th Jan 2020|3. März 2020,4. März 2020|1.2.20,3.4.20|2020年1月3日,2020年1月4日
123:45,124:45|-1:30,-2:30|5 days 00:00:00,6 days 00:00:00|1h30,2h30|PT5M,PT7M"""
CATEGORIES = "<=50K,>50K|10th,11th|4wd,2wd|18-25,26-40|A1,B2|grade 3,grade 4|3+,4+|10k-20k,20k-30k|na,na,na,5 kg,7 kg"
LISTS = re.split(r"[|\n]", "\n".join((UNITS, DATES, CATEGORIES)))
LOOK_LIKE_NUMBERS = [list(dict.fromkeys(each.split(","))) for each in LISTS]
LOOK_LIKE_NUMBERS += [["1,5 m²", "2 m²"], ["Mon, 03 Jan 2020", "Tue, 04 Jan 2020"]]
LOOK_LIKE_NUMBERS += [[f"{mark}5", f"7{mark}"] for mark in "\u200b\ufeff\u00ad"]


@pytest.mark.parametrize("values", LOOK_LIKE_NUMBERS, ids=ascii)
def test_words_with_digits_must_be_declared(values, tmp_path):
    quoted = [f'"{value}"' for value in values]
    x, y = as_table(tmp_path / "x.csv", quoted), as_table(tmp_path / "y.csv", WHOLE, quoted)
    for path in (x, y):
        with pytest.raises(UserError) as error:
            load(path, "y")
        assert any(repr(value) in str(error.value) for value in values)
    assert load(x, "y", words=["b"]).train_x.shape[1] == 1 + len(values)
    assert load(y, "y", words=["y"]).classes == load(y, "y", task="classification").classes == len(values)


@pytest.mark.parametrize("values", [["None", "low"], ["Jan", "Feb"], ["a", "b", "c2", "d"], ["中", "三"]], ids=ascii)
def test_words_without_digits_need_no_declaration(values, tmp_path):
    assert load(as_table(tmp_path / "t.csv", WHOLE, values), "y").classes == len(values)
    assert load(as_table(tmp_path / "t.csv", values), "y").train_x.shape[1] == 1 + len(values)


def test_declared_words_stay_as_they_are_written(tmp_path):
    """In a csv, in a parquet file of words and in one of numbers; missing values are missing all the same."""
    codes = ["01", "1", "1.0", "NA", "950", "1.101"]
    csv = load(as_table(tmp_path / "t.csv", codes), "y", words=["b"], missing="mean")
    assert csv.train_x.shape[1] == 1 + 5
    rows = {
        "a": range(ROWS),
        "b": codes * (ROWS // 6),
        "c": [2**53, 2**53 + 1, None] * (ROWS // 3),
        "y": WHOLE * (ROWS // 2),
    }
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    a = load(tmp_path / "t.parquet", "y", words=["b", "c"], missing="mean")
    assert a.train_x.shape[1] == 1 + 5 + 2
    with pytest.raises(UserError, match="'z'"):
        load(tmp_path / "t.parquet", "y", words=["z"])
    with pytest.raises(UserError, match="regression"):
        load(tmp_path / "t.parquet", "y", words=["b", "c", "y"], task="regression")


@pytest.mark.parametrize("marker", ["None", "-", "\\N", "na", "N.A.", "#DIV/0!", "(null)", "..", "*", "missing"])
def test_numbers_between_unusual_markers_are_no_classes(marker, tmp_path):
    for values in ([marker, marker, marker, "5", "7.5"], [marker] * 11 + ["5"], [marker, "x", "y", "z", '"5,5"']):
        for path in (as_table(tmp_path / "x.csv", values), as_table(tmp_path / "y.csv", WHOLE, values)):
            with pytest.raises(UserError) as error:
                load(path, "y")
            assert repr(marker) in str(error.value) or "'5,5'" in str(error.value)


def test_usual_markers_are_missing_values(tmp_path):
    for missing in ("#N/A", "n/a", "<NA>", "NaT"):
        with pytest.raises(UserError, match=r"'y' .*row 1"):
            load(as_table(tmp_path / "t.csv", WHOLE, [missing, "low", "high"]), "y")


def test_classes_beyond_float64_are_rejected(tmp_path):
    x = np.random.default_rng(0).random((ROWS, 2))
    for large in ([2**53, 2**53 + 1, 5], [10**20 + 1, 10**20 + 2, 5]):
        y = [large[i % 3] for i in range(ROWS)]
        csv = as_table(tmp_path / "t.csv", WHOLE, large)
        words, exact = tmp_path / "words.parquet", tmp_path / "exact.parquet"
        pq.write_table(pa.table({"a": range(ROWS), "y": list(map(str, y))}), words)
        pq.write_table(pa.table({"a": range(ROWS), "y": pa.array(map(Decimal, y), pa.decimal128(38, 0))}), exact)
        (tmp_path / "t.svm").write_text("".join(f"{label} 1:{i}\n" for i, label in enumerate(y)))
        for path in (csv, words, exact, tmp_path / "t.svm"):
            for task in ("auto", "classification"):
                with pytest.raises(UserError, match=str(large[0])[:15]):
                    load(path, None if path.suffix == ".svm" else "y", task=task)
        for path in (csv, words, exact):
            assert load(path, "y", words=["y"]).classes == 3
    np.savez(tmp_path / "t.npz", x=x, y=np.array([2**53, 2**53 + 1] * (ROWS // 2)))
    with pytest.raises(UserError, match=str(2**53)):
        load(tmp_path / "t.npz")
    assert load(as_table(tmp_path / "t.csv", WHOLE, [2**60, 2**61]), "y", words=["y"]).classes == 2
