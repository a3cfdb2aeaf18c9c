"""Frozen tables that someone edited."""

import os

import pytest

from analysis.board.frozen import read_frozen
from analysis.results.errors import NoData

COLUMNS = ("workload", "rule", "start", "reference")


@pytest.mark.parametrize("row", [f"{'9' * 400},minimum,3,1", "D1,minimum,inf,1", "D1,minimum,1e999,1"])
def test_numbers_that_are_too_large_are_named(tmp_path, row):
    file = tmp_path / "targets.csv"
    file.write_text(f"{','.join(COLUMNS)}\n{row}\n", encoding="utf-8")
    with pytest.raises(NoData, match=r"targets\.csv"):
        read_frozen(file, "targets", COLUMNS)


def test_words_and_numbers_are_read(tmp_path):
    file = tmp_path / "targets.csv"
    file.write_text(f"{','.join(COLUMNS)}\nD1,minimum,3,1\nT1,pooled,2,0.5\n", encoding="utf-8")
    assert list(read_frozen(file, "targets", COLUMNS)["start"]) == [3, 2]


@pytest.mark.parametrize("more", [",a" * 2000, ',"\n"' * 2000])
def test_very_wide_tables_are_refused(tmp_path, more):
    rows = [f"{','.join(COLUMNS)}{more}", f"D1,minimum,3,1{',1' * 2000}"]
    (tmp_path / "targets.csv").write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(NoData, match=r"targets\.csv.* 1000 "):
        read_frozen(tmp_path / "targets.csv", "targets", COLUMNS)


@pytest.mark.parametrize("inside", [False, True])
def test_large_tables_are_not_read(tmp_path, inside):
    file = tmp_path / "targets.csv"
    file.touch()
    os.truncate(file, 1 << 40)
    with pytest.raises(OSError, match=r"[MG]B"):
        read_frozen(file, "targets", COLUMNS, inside)
