"""Numbers and names of a forged run that ended a reader, or made it take minutes: the other runs are read."""

import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from analysis import load, make_figures
from analysis.drawing.thinned import BINS, DENSE, thinned
from analysis.report.commands import run_command
from analysis.results import index
from analysis.results.archive import RUNS, write_archive
from analysis.results.errors import NoData
from analysis.results.read import read
from analysis.results.warnings import unreadable, warnings
from analysis.study.statistics import Interval
from analysis.tables.digits import rounded
from analysis.tables.format import csv
from bench.store.files import sha256
from bench.store.integrity import SUMS, examine
from bench.store.kinds import MOST
from bench.sweep.sweep import run_all
from tests.faults.harm_forged import sealed
from tests.helpers.archives import without_digests
from tests.helpers.configs import config
from tests.helpers.readers import same_but


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    assert run_all([config(results=str(folder), seed=seed) for seed in (0, 1)], Console(quiet=True)) == 0
    return folder


@pytest.fixture
def results(made, tmp_path):
    return shutil.copytree(made, tmp_path / "results")


def first(results):
    return min((results / "runs").iterdir())


def summarized(run, **labels):
    sealed(run / "summary.json", {**json.loads((run / "summary.json").read_bytes()), **labels})


def measured(run, **columns):
    """Replace or add columns of the metrics."""
    table = pq.read_table(run / "metrics.parquet")
    for name, values in columns.items():
        column = pa.array(values(len(table)))
        there = table.schema.get_field_index(name)
        table = table.append_column(name, column) if there < 0 else table.set_column(there, name, column)
    replace(run, table)


def replace(run, table, **labels):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    (run / "metrics.parquet").write_bytes(content := sink.getvalue().to_pybytes())
    sums = json.loads((run / "summary.json").read_bytes())[SUMS]
    summarized(run, **{SUMS: {**sums, "metrics.parquet": sha256(content)}}, **labels)


def test_a_number_in_a_config_that_overflows_gives_no_command():
    assert run_command("x: " + ":".join(["1"] * 200) + ".5", {}, "results") == ""


@pytest.mark.parametrize("many", [1, 500], ids=["index", "folders"])
@pytest.mark.parametrize(("name", "least"), [("epoch", None), ("bytes", 0.5), ("samples", None)])
def test_a_column_of_another_type_costs_no_run(results, monkeypatch, many, name, least):
    monkeypatch.setattr(index, "MANY", many)
    before, run = load(results), first(results)
    measured(run, **{name: lambda count: [least, *[2**53 + 1] * (count - 1)] if least is None else [least] * count})
    other = max((results / "runs").iterdir())
    if name == "bytes":
        measured(other, bytes=lambda count: [2**53 + 1] * count)
    for _ in range(2):  # the second time from the index
        table = load(results)
        assert table.attrs["unreadable"] == []
        shown = before.drop(columns="bytes") if name == "bytes" else before
        assert same_but(table, shown, run.name)
        assert {2.0**53} <= {*table[name]} if name != "bytes" else {0.5, 2.0**53} == {*table[name]}


@pytest.mark.parametrize("many", [1, 500], ids=["index", "folders"])
@pytest.mark.parametrize(
    ("steps", "reason"), [(lambda n: [-1, *range(1, n)], "from 0 on"), (lambda n: [0] * n, "0 on"), (None, "columns")]
)
def test_a_run_with_a_forged_table_is_skipped_with_the_reason(results, monkeypatch, many, steps, reason):
    monkeypatch.setattr(index, "MANY", many)
    run = first(results)
    measured(run, **({"step": steps} if steps else {"x" * 5000: lambda count: [0.0] * count}))
    (sentence,) = unreadable(read(results))
    assert run.name in sentence
    assert reason in sentence
    assert "status.py" not in sentence


@pytest.mark.parametrize("names", [("=a", "'=a", "''=a"), ("'=a", "=a"), ("\x01", "\\x01"), ("a", "b")])
def test_columns_whose_names_become_equal_in_a_csv_stay_apart(names):
    table = pd.DataFrame([[f"v{n}" for n in range(len(names))]], columns=names)
    header, row = (line.split(",") for line in csv(table).splitlines())
    assert len({*header}) == len(names)
    assert not [name for name in header if name.startswith("=")]
    assert row == [f"v{n}" for n in range(len(names))]
    if names == ("a", "b"):
        assert header == ["a", "b"]


def test_labels_that_become_equal_cost_no_table(results, tmp_path):
    summarized(first(results), **{"=a": 1, "'=a": 2, "\x01": 1, "\\x01": 2})
    assert make_figures.main(["--results", str(results), "--out", str(tmp_path), "--figure", "final"]) == 0
    assert (tmp_path / "table_final.csv").exists()


def test_a_table_that_cannot_be_written_is_named(results, tmp_path, monkeypatch, capsys):
    def fail(table):
        raise ValueError("odd cell")

    monkeypatch.setattr("analysis.report.table_files.in_digits", fail)
    assert make_figures.main(["--results", str(results), "--out", str(tmp_path), "--figure", "final,methods"]) == 2
    assert capsys.readouterr().out.count("odd cell") == 2


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (5e-324, np.nan, ("4.941", "", -324)),
        (5e-324, 5e-324, ("5", "5", -324)),
        (1.5e-310, 2e-312, ("1.50", "0.02", -310)),
        (1.5e-300, 2e-302, ("1.50", "0.02", -300)),
        (1.5e308, np.nan, ("1.5", "", 308)),
        (0.00052, 0.00001, ("5.20", "0.10", -4)),
    ],
)
def test_rounds_the_smallest_numbers(value, half, text):
    assert rounded(Interval(value, value - half, value + half, 3)) == text


def test_the_smallest_error_is_no_division_by_zero():
    assert rounded(Interval(0.0, 0.0, 5e-324, 3))
    assert rounded(Interval(1.0, 1.0 - 1e-16, 1.0, 3))


@pytest.mark.parametrize(("more", "damaged"), [(MOST, True), (MOST // 2, False)])
def test_too_many_labels_damage_only_their_run(results, more, damaged):
    run = first(results)
    summarized(run, **{f"k{number}": number for number in range(more)})
    assert ("summary.json" in examine(run).damaged) == damaged
    assert load(results).attrs["unreadable"] == [run.name] * damaged
    assert not damaged or str(MOST) in examine(run).sentence()


def test_rejects_an_archive_with_too_many_labels(made, tmp_path):
    write_archive(read(made), tmp_path)
    runs = pd.read_parquet(tmp_path / RUNS)
    more = pd.DataFrame(1, index=runs.index, columns=[f"k{number}" for number in range(MOST)])
    pd.concat([runs, more], axis=1).to_parquet(tmp_path / RUNS, index=False)
    with pytest.raises(NoData, match=str(MOST)):
        read(without_digests(tmp_path))


def test_a_thinned_line_has_the_same_ends_and_extremes():
    chance = np.random.default_rng(0)
    rows = pd.DataFrame({"x": np.arange(50 * BINS), "y": chance.normal(size=50 * BINS)})
    rows.loc[100:400, "y"] = np.nan
    few = thinned(rows, "y")
    assert len(few) <= 3 * BINS
    assert few.index.is_monotonic_increasing
    assert {0, len(rows) - 1, rows["y"].idxmin(), rows["y"].idxmax()} <= {*few.index}
    assert few["y"].loc[100:400].isna().any()  # the gap stays
    for part in np.array_split(np.arange(len(rows)), BINS // 10):
        values, left = rows["y"].iloc[part], few["y"].reindex(part).dropna()
        assert values.isna().all() or (values.min(), values.max()) == (left.min(), left.max())


def test_an_ordinary_line_is_not_thinned():
    rows = pd.DataFrame({"y": np.arange(DENSE)})
    assert thinned(rows, "y") is rows


def test_a_run_with_many_evaluations_is_drawn_in_seconds(results, tmp_path):
    run, count = first(results), 30_000
    table = pq.read_table(run / "metrics.parquet").to_pandas()
    table = table.iloc[np.arange(count) % len(table)].assign(step=np.arange(count), epoch=np.arange(count) / 10)
    replace(run, pa.Table.from_pandas(table, preserve_index=False), steps=count - 1, step=count - 1)
    words = ["--results", str(results), "--out", str(tmp_path), "--format", "svg", "--figure", "compare"]
    assert make_figures.main(words) == 0
    assert len(pd.read_csv(tmp_path / "compare.csv")) >= count
    assert (tmp_path / "compare.svg").stat().st_size < 1_000_000


def test_a_clash_is_named_in_the_warning(results):
    measured(first(results), size=lambda count: [0.5] * count)
    summarized(max((results / "runs").iterdir()), size=1.0)
    found = read(results)
    assert found.unreadable == [first(results).name]
    assert [sentence for sentence in warnings(found) if "'size'" in sentence and first(results).name in sentence]
