"""Selection of runs by their labels, and runs that several sources have."""

import itertools
from dataclasses import replace

import pandas as pd
import pytest

from analysis.archive import main
from analysis.results.archive import read_archive, write_archive
from analysis.results.duplicates import contradicting, together
from analysis.results.errors import NoData
from analysis.results.results import Results

LABELS = {"algo": "dsgd", "topology": "ring", "dataset": "digits", "nodes": 4, "steps": 2, "state": "done"}


def made(*schedule_nodes: object) -> Results:
    runs = [{"run_id": f"r{i}", **LABELS, "seed": i, "schedule_nodes": n} for i, n in enumerate(schedule_nodes)]
    rows = [
        {"run_id": one["run_id"], "step": step, "train_loss": 1.0, "wall_s": 3.0} for one in runs for step in (0, 2)
    ]
    columns = pd.DataFrame(runs).astype({"schedule_nodes": object})
    return Results(columns, pd.DataFrame(rows), {}, [], "here")


@pytest.mark.parametrize(
    ("word", "runs"), [("null", ["r1", "r2"]), ("null,8", ["r0", "r1", "r2"]), ("16.0", ["r3"]), ("word", ["r4"])]
)
def test_null_selects_missing_values_of_every_kind(word, runs):
    found = made(8, None, float("nan"), 16, "word").where([("schedule_nodes", word.split(","))])
    assert list(found.runs["run_id"]) == runs


@pytest.mark.parametrize(("label", "value"), [("schedule_nodes", "9"), ("schedule_nodes", "null"), ("algo", "dsgt")])
def test_reports_a_value_that_no_run_has(label, value):
    some = made(8, 16)
    known = str(some.runs[label].iloc[0])
    with pytest.raises(NoData, match=rf"{label}={value}\b.* {known}\b"):
        some.where([(label, [known, value])])


def other(results: Results, **values: float) -> Results:
    last = results.rows.index[-1]
    rows = results.rows.copy()
    for name, value in values.items():
        rows.loc[last, name] = value
    return replace(results, rows=rows)


def test_runs_with_other_numbers_in_two_sources_are_named():
    some = made(8, 16)
    assert contradicting([some]) == []
    assert contradicting([some, other(some, wall_s=9.0, train_loss=1.0 + 1e-8)]) == []
    assert contradicting([some, other(some, train_loss=1.1)]) == ["r1"]
    assert contradicting([some, other(some, train_loss=float("nan"))]) == ["r1"]
    assert contradicting([some, replace(some, rows=some.rows[1:])]) == ["r0"]


def test_the_archive_command_names_runs_that_differ(tmp_path, capsys):
    for folder, results in (("one", made(8, 16)), ("two", other(made(8, 16), train_loss=1.1))):
        write_archive(results, tmp_path / folder)
    assert main([*(str(tmp_path / name) for name in ("one", "two", "out"))]) == 0
    error = capsys.readouterr().err
    assert "r1" in error
    assert "r0" not in error
    assert main([*(str(tmp_path / name) for name in ("one", "one", "out"))]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("order", [*itertools.permutations(["whole", "reduced", "unended"])])
def test_of_equal_runs_the_one_with_most_metrics_wins(order):
    whole = made(8, 16)
    whole = replace(whole, rows=whole.rows.assign(test_loss=2.0))
    reduced = replace(whole, rows=whole.rows.drop(columns="test_loss"))
    parts = {"whole": whole, "reduced": reduced, "unended": unfinished(whole, "r0", "r1")}
    merged = together([parts[name] for name in order])
    assert len(merged.runs) == 2
    assert merged.rows["test_loss"].tolist() == [2.0] * 4


def test_a_run_with_other_numbers_and_more_metrics_does_not_win():
    some = made(8, 16)
    later = other(some, train_loss=1.1)
    later = replace(later, rows=later.rows.assign(test_loss=2.0))
    merged = together([some, later])
    assert merged.rows["train_loss"].tolist() == [1.0] * 4
    assert merged.rows["test_loss"].notna().sum() == 2  # of r0, whose numbers are the same
    fewer = replace(some, rows=some.rows.drop(columns="train_loss"))
    merged = together([fewer, later, some])  # r1 is that of the first source, and not one of those that differ
    assert merged.rows.set_index("run_id")["train_loss"].notna().groupby("run_id").any().to_dict() == {
        "r0": True,
        "r1": False,
    }
    assert contradicting([some, later, other(later, test_loss=3.0)]) == ["r1"]
    assert contradicting([some, later, replace(later, rows=later.rows.assign(test_loss=3.0))]) == ["r0", "r1"]


def test_a_metric_that_only_other_runs_of_an_archive_have_is_no_difference():
    whole = made(8, 16)
    whole = replace(whole, rows=whole.rows.assign(test_loss=2.0))
    lacking = replace(whole, rows=whole.rows.assign(train_loss=[float("nan")] * 2 + [1.0] * 2))  # r0 has none
    for parts in ([lacking, whole], [whole, lacking]):
        assert contradicting(parts) == []
        assert together(parts).rows["train_loss"].tolist() == [1.0] * 4


def test_a_run_that_diverged_differs_from_one_that_did_not():
    nan = float("nan")
    for steps in ((0, 2), (0,)):
        some = made(8)
        some = replace(some, rows=some.rows[some.rows["step"].isin(steps)])
        lost = replace(some, runs=some.runs.assign(state="nonfinite"), rows=some.rows.assign(train_loss=nan))
        assert contradicting([some, lost]) == contradicting([lost, some]) == ["r0"]
        assert contradicting([lost, lost]) == []
    there = replace(lost, rows=lost.rows.assign(train_loss=1.0))  # both ended at their only evaluation
    assert contradicting([there, lost]) == contradicting([lost, there]) == ["r0"]


@pytest.mark.parametrize("value", [1.5e129, -1.5e129, float("inf")])
def test_a_diverging_run_equals_its_archive(value, tmp_path):
    some = other(made(8, 16), train_loss=value)
    write_archive(some, tmp_path)
    assert contradicting([some, read_archive(tmp_path)]) == []
    assert contradicting([read_archive(tmp_path), other(some, train_loss=-value)]) == ["r1"]
    assert together([read_archive(tmp_path), replace(some, rows=some.rows.assign(m=1.0))]).rows["m"].notna().all()


def unfinished(results: Results, *names: str) -> Results:
    """The same runs, of which some were interrupted after their first evaluation."""
    runs, rows = results.runs, results.rows
    state = runs["state"].where(~runs["run_id"].isin(names), "interrupted")
    return replace(results, runs=runs.assign(state=state), rows=rows[~rows["run_id"].isin(names) | (rows["step"] == 0)])


def test_an_ended_run_wins_over_an_earlier_unended_one():
    some = made(8, 16, 32)
    for parts in ([unfinished(some, "r1"), some], [some, unfinished(some, "r1")]):
        merged = together(parts)
        assert sorted(merged.runs["run_id"]) == ["r0", "r1", "r2"]
        assert set(merged.runs["state"]) == {"done"}
        assert len(merged.rows) == 6
    first = together([unfinished(other(some, train_loss=1.1), "r0"), unfinished(some, "r0")])
    assert list(first.runs["state"]) == ["interrupted", "done", "done"]
    assert first.rows["train_loss"].max() == 1.1


def test_the_archive_command_counts_ended_runs_and_names_the_others(tmp_path, capsys, monkeypatch):
    some = made(8, 16, 32)
    sources = {"one": unfinished(some, "r0", "r1"), "two": unfinished(some, "r0")}
    monkeypatch.setattr("analysis.results.read.read", sources.__getitem__)
    assert main(["one", "two", str(tmp_path)]) == 0
    found = capsys.readouterr()
    assert found.out.startswith("2 runs, ")
    assert "r0 (interrupted)" in found.err
    assert "r1" not in found.err
    assert sorted(read_archive(tmp_path).runs["run_id"]) == ["r1", "r2"]


def test_the_archive_command_names_damaged_runs_that_no_source_has(tmp_path, capsys, monkeypatch):
    some = made(8, 16)
    sources = {"one": replace(some.where([("seed", ["1"])]), unreadable=["r0", "r7"]), "two": some}
    monkeypatch.setattr("analysis.results.read.read", sources.__getitem__)
    assert main(["one", "two", str(tmp_path)]) == 0
    error = capsys.readouterr().err
    assert "r7" in error
    assert "r0" not in error
