"""Limits of the lines of a data file: blank ones take time, and long ones memory."""

import pytest

from bench.base.errors import UserError
from datasets.own import limits, tables
from tests.helpers.tables import load

LIBSVM = "".join(f"{i % 2} 1:{i + 1}\n" for i in range(24))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_limits_the_blank_lines_of_a_table_outside_of_quotes(end, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "BLANK", 6)
    rows = "".join(f"{i},{i % 2}{end}" + end * (i < 3) for i in range(24))
    for blank in (3, 4):
        (tmp_path / "t.csv").write_bytes(f'"a{end * 20}",y{end}{rows}{end * blank}'.encode())
        if blank == 3:
            assert len(load(tmp_path / "t.csv", "y").train_x) == 19
    with pytest.raises(UserError, match=r"t\.csv\b.*\b6\b"):
        load(tmp_path / "t.csv", "y")


@pytest.mark.parametrize("blank", ["\n", " \t\r\n", "# nothing\n"])
def test_limits_the_lines_of_a_libsvm_file_without_a_row(blank, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "BLANK", 6)
    (tmp_path / "t.libsvm").write_text(LIBSVM.replace("\n", " # a row\n") + blank * 6)
    assert len(load(tmp_path / "t.libsvm").train_x) == 19
    (tmp_path / "t.libsvm").write_text(blank * 7 + LIBSVM)
    with pytest.raises(UserError, match=r"t\.libsvm\b.*\b6\b"):
        load(tmp_path / "t.libsvm")


@pytest.mark.parametrize(
    "row", [",".join("1" * 9), '"1\n",' * 8 + "1", "1,2\n" + "," * 8], ids=["first", "quoted lines", "later"]
)
def test_limits_the_separators_of_a_row_before_its_cells_take_memory(row, tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr(tables, "refuse_table", lambda *sizes: taken.append(sizes[-1]))
    (tmp_path / "t.csv").write_text(f"{row}\n")
    for most in (8, 7):
        monkeypatch.setattr(tables, "SEPARATORS", most)
        with pytest.raises(UserError) as error:
            load(tmp_path / "t.csv", "y")
        assert ("7 sep" in str(error.value)) == (most == 7)
    assert taken == ([2, 2] if row.startswith("1,2\n") else [9])


def test_the_separators_of_many_rows_and_of_quoted_cells_are_no_row(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "SEPARATORS", 5)
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f'"{"pqr"[i % 3]},,,\n",{i % 2}\n' for i in range(24)))
    assert load(tmp_path / "t.csv", "y").train_x.shape == (19, 3)


@pytest.mark.parametrize("text", ["sep=;\n", "sep=,\n\n\n"])
def test_rejects_a_table_that_has_only_its_separator(text, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(UserError, match=r"t\.csv\b.* empty"):
        load(tmp_path / "t.csv", "y")
