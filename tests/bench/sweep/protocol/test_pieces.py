"""Pieces of a phase: they divide it, and a repeated command computes only what is left."""

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from bench import board as command
from bench.base.board_file import read
from bench.base.errors import UserError
from bench.sweep.protocol import pieces
from bench.sweep.protocol.chosen import read_chosen
from bench.sweep.protocol.phases import cells
from bench.sweep.protocol.pieces import (
    TIMES,
    archived_runs,
    check_words,
    composed,
    first_minutes,
    keep_time,
    measured_times,
    piece_of,
)
from tests.helpers.run_folders import folders


def key(cell):
    return cell.workload.name, cell.entrant.name


def test_pieces_divide_the_cells():
    board = read()
    found = cells(board, "tune")
    pieces = [piece_of(board, found, k, 7) for k in range(1, 8)]
    assert [key(cell) for piece in pieces for cell in piece] == [key(cell) for cell in found]


@pytest.mark.parametrize("word", ["steps=3", "algo.eta=1", "seed=7", "dtype=float32"])
def test_settings_of_the_protocol_cannot_be_typed(word):
    with pytest.raises(UserError, match=word):
        check_words([word])


def test_a_resumed_piece_computes_only_what_is_left(small, tmp_path):
    words, board = [f"results={tmp_path / 'results'}"], read(small)
    found = cells(board, "tune")
    first = first_minutes(board, composed(found, words), 1e-9, {})
    assert len(first) == 4  # a single cell: two stepsizes and two seeds
    typed = ["run", "tune", "--board", str(small), *words]
    assert command.main([*typed, "--minutes", "1e-9"]) == 0
    done = {folder.name: folder.stat().st_ino for folder in folders(tmp_path / "results")}
    assert set(done) == {run.run_id for run in first}
    left = first_minutes(board, composed(found, words), None, {})
    assert len(left) == sum(cell.runs for cell in found) - 4
    assert command.main(typed) == 0
    after = {folder.name: folder.stat().st_ino for folder in folders(tmp_path / "results")}
    assert after.items() >= done.items()
    assert first_minutes(board, composed(found, words), None, {}) == []


def write_runs(folder, names, states, facts="[]", last=5, **metrics):
    steps = pa.array([5] * len(names))
    pq.write_table(pa.table({"run_id": names, "state": states, "steps": steps}), folder / "runs.parquet")
    places = [place for place in range(len(names)) for _ in range(2)]
    rows = {"run": places, "step": [0, last] * len(names), **(metrics or {"node_loss": [1.0] * len(places)})}
    pq.write_table(pa.table(rows), folder / "rows.parquet")
    (folder / "facts.json").write_text(facts)


def test_archived_runs_are_not_computed_again(small, tmp_path):
    board, words = read(small), [f"results={tmp_path / 'results'}"]
    found = composed(cells(board, "tune"), words)
    names = [run.run_id for run in found[0].runs]
    states = ["done", "nonfinite", "failed", "done"]
    write_runs(tmp_path, names, states)
    archived = archived_runs([tmp_path])
    assert archived == {names[0], names[1], names[3]}
    assert [run.run_id for run in found[0].left(archived)] == [names[2]]
    assert names[2] in [run.run_id for run in first_minutes(board, found, None, {}, archived)]
    with pytest.raises(UserError, match="absent"):
        archived_runs([tmp_path / "absent"])


def test_runs_in_the_archive_of_a_version_are_done(small, tmp_path):
    (archive := small / "runs").mkdir()
    found = composed(cells(read(small), "tune"), [])
    names = [run.run_id for one in found for run in one.runs]
    write_runs(archive, names[1:], ["done"] * len(names[1:]))
    assert command.main(["run", "tune", "--board", str(small), f"results={tmp_path / 'results'}"]) == 0
    assert [folder.name for folder in folders(tmp_path / "results")] == names[:1]
    assert replace(read(small), size="quick").archives == []


def test_archived_runs_without_their_last_evaluations_are_computed_again(tmp_path):
    states = {"a": "done", "b": "diverging", "c": "nonfinite", "d": "exploded"}
    write_runs(tmp_path, [*states], [*states.values()])
    assert archived_runs([tmp_path]) == {*states}
    write_runs(tmp_path, [*states], [*states.values()], last=4)
    assert archived_runs([tmp_path]) == {"c"}
    pq.write_table(pa.table({"run": [0, 0], "step": [0, 5], "node_loss": [1.0, 0.5]}), tmp_path / "rows.parquet")
    assert archived_runs([tmp_path]) == {"a"}


def test_archived_runs_without_the_scored_loss_are_computed_again(tmp_path):
    states = {"a": "done", "b": "done", "c": "diverging", "d": "nonfinite"}
    nan = float("nan")
    write_runs(tmp_path, [*states], [*states.values()], node_loss=[nan, nan, 1.0, nan, None, nan, nan, nan])
    assert archived_runs([tmp_path]) == {"b", "d"}
    write_runs(tmp_path, [*states], [*states.values()], train_loss=[1.0] * 8)
    assert archived_runs([tmp_path]) == {"d"}


def test_a_file_that_is_no_archive_is_named(tmp_path):
    write_runs(tmp_path, ["a"], ["done"])
    file = tmp_path / "runs.parquet"
    for content in (b"garbage", b"PAR1garbage!PAR1"):
        file.write_bytes(content)
        with pytest.raises(UserError, match=re.escape(str(tmp_path))):
            archived_runs([tmp_path])
    pq.write_table(pa.table({"run_id": ["a"]}), file)
    with pytest.raises(UserError, match="state"):
        archived_runs([tmp_path])
    write_runs(tmp_path, ["a"], ["done"])
    (tmp_path / "rows.parquet").unlink()
    with pytest.raises(UserError, match=r"rows\.parquet"):
        archived_runs([tmp_path])


@pytest.mark.parametrize(
    ("names", "states", "facts"),
    [
        ([["a"]], ["done"], "[]"),
        ([{"a": 1}], ["done"], "[]"),
        ([None], ["done"], "[]"),
        (["../a"], ["done"], "[]"),
        (["a"], [["done"]], "[]"),
        (["a"], ["done"], '[{"sha256": {"runs.parquet": "0"}}]'),
        (["a"], ["done"], '[{"sha256": 1}]'),
        (["a"], ["done"], "[" * 100_000),
        (["a"], ["done"], "1"),
    ],
)
def test_an_archive_that_was_tampered_with_is_refused(tmp_path, names, states, facts):
    write_runs(tmp_path, names, states, facts)
    with pytest.raises(UserError, match=re.escape(str(tmp_path))):
        archived_runs([tmp_path])


def test_the_size_of_an_archive_is_limited(tmp_path, monkeypatch):
    write_runs(tmp_path, ["a", "b"], ["done", "done"])
    monkeypatch.setattr(pieces, "ARCHIVED", 4)
    assert archived_runs([tmp_path]) == {"a", "b"}
    monkeypatch.setattr(pieces, "ARCHIVED", 3)
    with pytest.raises(UserError, match=r"\b4\b.* 3\."):
        archived_runs([tmp_path])


@pytest.mark.parametrize(
    ("runs", "steps"),
    [([0, 2], [0, 5]), ([-1, 0], [0, 5]), ([0, None], [0, 5]), ([0.0, 0.0], [0, 5]), ([0, 0], [0, None])],
)
def test_an_archive_with_invalid_places_of_evaluations_is_refused(tmp_path, runs, steps):
    write_runs(tmp_path, ["a", "b"], ["done", "done"])
    pq.write_table(pa.table({"run": runs, "step": steps, "node_loss": [1.0, 1.0]}), tmp_path / "rows.parquet")
    with pytest.raises(UserError, match=re.escape(str(tmp_path))):
        archived_runs([tmp_path])


def test_an_archive_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "outside").mkdir()
    write_runs(tmp_path / "outside", ["a"], ["done"])
    write_runs(tmp_path, ["a"], ["done"])
    (tmp_path / "runs.parquet").unlink()
    (tmp_path / "runs.parquet").symlink_to(tmp_path / "outside" / "runs.parquet")
    with pytest.raises(UserError, match=r"runs\.parquet"):
        archived_runs([tmp_path])


def test_the_pilot_measures_every_workload(small, tmp_path):
    assert command.main(["run", "pilot", "--board", str(small), f"results={tmp_path}"]) == 0
    measured = json.loads((tmp_path / TIMES).read_text("utf-8"))["cpu"]
    assert set(measured) == {"A", "B", "V"}
    assert all(value > 0 for value in measured.values())


def test_a_report_needs_chosen_settings(small, capsys):
    assert command.main(["run", "report", "--board", str(small)]) == 2
    assert str(small / "chosen.csv") in capsys.readouterr().err


def test_a_piece_without_runs_is_named(small, tmp_path, capsys):
    words = ["run", "tune", "--board", str(small), f"results={tmp_path / 'results'}", "--piece", "1/1000"]
    assert command.main(words) == 0
    printed = capsys.readouterr().out
    assert "1/1000" in printed
    assert "done" not in printed
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("text", ["3/2", "0/4", "2", "a/b"])
def test_a_piece_is_k_of_n(text):
    with pytest.raises(UserError, match=text):
        command.piece(text)


@pytest.mark.parametrize(
    "text",
    ["", "[1]", '{"cpu": 3}', '{"cpu": {"D1": "x"}}', '{"cpu": {"D1": -1}}', '{"cpu": {"D1": 1e300}}', "[" * 100_000],
)
def test_broken_times_are_named(tmp_path, text):
    (tmp_path / TIMES).write_text(text, encoding="utf-8")
    for use in (lambda: measured_times(tmp_path, "cpu"), lambda: keep_time(tmp_path, "cpu", "D1", 1.0)):
        with pytest.raises(UserError, match=TIMES):
            use()


def test_times_are_neither_read_nor_written_through_a_link(tmp_path):
    precious = tmp_path / "precious.json"
    precious.write_text('{"cpu": {"D1": 1}}', encoding="utf-8")
    (tmp_path / TIMES).symlink_to(precious)
    for use in (lambda: measured_times(tmp_path, "cpu"), lambda: keep_time(tmp_path, "cpu", "D2", 2.0)):
        with pytest.raises(OSError, match="link"):
            use()
    assert precious.read_text("utf-8") == '{"cpu": {"D1": 1}}'
    (tmp_path / TIMES).unlink()
    keep_time(tmp_path, "cpu", "D2", 2.0)
    assert measured_times(tmp_path, "cpu") == {"D2": 2.0}


@pytest.mark.parametrize(("part", "name"), [("tune", "T9"), ("tune", "V"), ("dev", "A")])
def test_a_workload_without_runs_is_named(small, tmp_path, capsys, part, name):
    assert command.main(["run", part, "--board", str(small), "--workload", name, f"results={tmp_path}"]) == 2
    assert f"'{name}'" in capsys.readouterr().err


def test_the_commands_of_a_status_have_its_options(small, tmp_path, capsys):
    options = ["--workload", "A", "--board", str(small)]
    assert command.main(["status", *options, f"results={tmp_path}"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "board.py run tune" in line]
    assert shlex.join([*options, f"results={tmp_path}"]) in line


def test_the_commands_of_a_status_are_accepted(small, tmp_path, capsys):
    chosen = tmp_path / "chosen.csv"
    chosen.write_text("ruleset,workload,method,algo.eta\n", encoding="utf-8")
    assert command.main(["status", "--chosen", str(chosen), "--board", str(small), f"results={tmp_path}"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "board.py run" in line]
    assert {line.split()[3] for line in lines} >= {"pilot", "gate", "dev", "tune"}
    for line in lines:
        command.parsed(shlex.split(line, comments=True)[2:])


@pytest.mark.thorough
def test_a_script_runs_phases_with_several_processes_and_packs_them(small, tmp_path):
    script = Path(command.__file__).parents[1] / "board" / "on_one_gpu.sh"
    where = {"PYTHON": sys.executable, "DEVICE": "cpu", "BOARD": str(small)}

    def typed(name, *words, **more):
        place = {"RESULTS": str(tmp_path / f"{name}_results"), **more}
        told = subprocess.run(
            ["bash", script, "300", tmp_path / name, *words],
            env={**os.environ, **where, **place},
            capture_output=True,
            text=True,
            timeout=400,
        )
        assert told.returncode == 0, told.stdout + told.stderr
        return archived_runs([tmp_path / name])

    first = typed("first", "tune:A", PROCESSES="2")
    rest = typed("rest", "tune", "dev", PROCESSES="3", DONE=str(tmp_path / "first"))
    wanted = [run.run_id for one in composed(cells(read(small), "tune"), []) for run in one.runs]
    assert first == {run for run in wanted if run in first}
    assert not first & rest
    assert first | rest >= set(wanted)


def test_a_run_that_the_network_does_not_allow_is_not_due(small, tmp_path, capsys):
    file = small / "board.yaml"
    said = yaml.safe_load(file.read_text("utf-8"))
    said["entrants"]["d2"] = {"stepsize": "eta", "grid": "follow"}
    file.write_text(yaml.safe_dump(said), encoding="utf-8")
    typed = ["--board", str(small), "--workload", "A", f"results={tmp_path}"]
    assert command.main(["run", "tune", *typed]) == 0
    assert "Skipping 4 runs: d2" in capsys.readouterr().err
    assert command.main(["status", *typed]) == 0
    assert "board.py run tune" not in capsys.readouterr().out


def test_the_status_names_an_unknown_workload(small, tmp_path, capsys):
    assert command.main(["status", "--board", str(small), "--workload", "A,T9", f"results={tmp_path}"]) == 2
    assert "'T9'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["score", "--workload", "D1"], "--workload"),
        (["score", "--chosen", "x.csv"], "--chosen"),
        (["score", "device=cuda"], "device=cuda"),
        (["status", "--minutes", "3"], "--minutes"),
        (["status", "--pack"], "--pack"),
        (["run", "tune", "--pack"], "--pack"),
        (["run", "tune", "--salt", "a"], "--salt"),
        (["run", "pilot", "--minutes", "3"], "--minutes"),
        (["run", "tune", "--submission", "a", "--size", "quick"], "--size"),
        (["run", "tune", "--submission", "a", "--chosen", "x.csv"], "--chosen"),
        (["check", "a", "--size", "quick"], "--size"),
        (["check", "a", "--pack", "--salt", "b"], "--salt"),
        (["run", "tune", "--minutes", "nan"], "nan"),
        (["run", "tune", "--minutes", "-5"], "-5"),
        (["run", "tune", "results=a", "results=b"], "'results'"),
        (["run", "tune", "--piece", ""], "--piece"),
        (["run", "tune", "--workload", ""], "--workload"),
        (["status", "--workload", ""], "--workload"),
        (["status", "--submission", ""], "--submission"),
        (["run", "report", "--chosen", ""], "--chosen"),
        (["check", "a", "--salt", ""], "--salt"),
    ],
)
def test_words_without_effect_are_rejected(words, named):
    with pytest.raises(UserError, match=named):
        command.parsed(words)


TABLE = "ruleset,workload,method,algo.eta\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"a,b\n1,2\n",
        *((TABLE + f"tuned,D1,dsgd,{x}\n").encode() for x in ("[1", "nan", "1,2", "{a: 1}", "1\ntuned,D1,dsgd,3")),
        *((TABLE + f"tuned,D1,dsgd,{x}\n").encode() for x in ("2026-99-99", "9" * 5000, "[" * 5000, "${oc.env:HOME}")),
    ],
)
def test_a_broken_choice_is_named(tmp_path, content):
    (tmp_path / "chosen.csv").write_bytes(content)
    with pytest.raises(UserError, match=r"chosen\.csv"):
        read_chosen(tmp_path / "chosen.csv")


@pytest.mark.timeout(30)
def test_aliases_that_grow_tenfold_take_no_time(tmp_path):
    levels = ["{a: &a0 {x: 1}}", *(f"b{k}: &a{k + 1} {{<<: [{', '.join([f'*a{k}'] * 10)}]}}" for k in range(11))]
    value = "{" + ", ".join(level.strip("{}") if k == 0 else level for k, level in enumerate(levels)) + "}"
    content = io.StringIO()
    csv.writer(content).writerows([TABLE.strip().split(","), ["tuned", "D1", "dsgd", value]])
    (tmp_path / "chosen.csv").write_text(content.getvalue(), encoding="utf-8")
    with pytest.raises(UserError, match=r"chosen\.csv"):
        read_chosen(tmp_path / "chosen.csv")


def test_small_stepsizes_are_numbers(tmp_path):
    (tmp_path / "chosen.csv").write_text(TABLE + "tuned,D1,dadam,1e-05\n", encoding="utf-8")
    (row,) = read_chosen(tmp_path / "chosen.csv")
    assert row.values == {"algo.eta": 1e-5}


def test_a_link_in_a_results_folder_is_no_choice(tmp_path):
    (tmp_path / "mine.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "chosen.csv").symlink_to(tmp_path / "mine.csv")
    with pytest.raises(OSError, match="link"):
        read_chosen(tmp_path / "chosen.csv", inside=True)
    assert read_chosen(tmp_path / "chosen.csv") == []


def test_results_are_looked_for_where_the_runs_are(small, tmp_path, monkeypatch):
    monkeypatch.setenv("PLACE", str(tmp_path))
    typed = ["results=${oc.env:PLACE}/there", "device=cpu"]
    assert {run.results for one in composed(cells(read(small), "dev"), typed) for run in one.runs} == {
        command.typed(typed, "results", "results")
    }
    assert command.typed(typed, "results", "results") == str(tmp_path / "there")
    assert command.typed(['results="a b"'], "results", "results") == "a b"
    assert command.typed([], "results", "results") == "results"
    with pytest.raises(UserError, match="a,b"):
        command.typed(["results=a,b"], "results", "results")


@pytest.mark.parametrize("line", ["tuned,A,twin,1,2\n", "tuned,A\n", "tuned\n"])
def test_rows_of_another_length_than_the_header_are_refused(tmp_path, line):
    (tmp_path / "chosen.csv").write_text("ruleset,workload,method,algo.eta\n" + line, encoding="utf-8")
    with pytest.raises(UserError, match=r"chosen\.csv.* 4 "):
        read_chosen(tmp_path / "chosen.csv")
