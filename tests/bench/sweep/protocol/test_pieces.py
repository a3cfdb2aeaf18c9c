"""Pieces of a phase: they divide it, and a repeated command computes only what is left."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import board as command
from bench.base.errors import UserError
from bench.sweep.protocol.phases import cells
from bench.sweep.protocol.pieces import TIMES, archived_runs, check_words, composed, first_minutes, piece_of
from bench.sweep.protocol.read import read
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


def test_archived_runs_are_not_computed_again(small, tmp_path):
    board, words = read(small), [f"results={tmp_path / 'results'}"]
    found = composed(cells(board, "tune"), words)
    names = [run.run_id for run in found[0].runs]
    states = ["done", "nonfinite", "failed", "done"]
    pq.write_table(pa.table({"run_id": names, "state": states}), tmp_path / "runs.parquet")
    archived = archived_runs([tmp_path])
    assert archived == {names[0], names[1], names[3]}
    assert [run.run_id for run in found[0].left(archived)] == [names[2]]
    assert names[2] in [run.run_id for run in first_minutes(board, found, None, {}, archived)]
    with pytest.raises(UserError, match="absent"):
        archived_runs([tmp_path / "absent"])


def test_the_pilot_measures_every_workload(small, tmp_path):
    assert command.main(["run", "pilot", "--board", str(small), f"results={tmp_path}"]) == 0
    measured = json.loads((tmp_path / TIMES).read_text("utf-8"))["cpu"]
    assert set(measured) == {"A", "B", "V"}
    assert all(value > 0 for value in measured.values())


def test_a_report_needs_chosen_settings(small, capsys):
    assert command.main(["run", "report", "--board", str(small)]) == 2
    assert str(small / "chosen.csv") in capsys.readouterr().err


@pytest.mark.parametrize("text", ["3/2", "0/4", "2", "a/b"])
def test_a_piece_is_k_of_n(text):
    with pytest.raises(UserError, match=text):
        command.piece(text)
