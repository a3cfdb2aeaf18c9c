"""Submissions: what is complete and computed again is accepted, what was tampered with is refused."""

import math
import os
import platform
import re
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import yaml

from bench import board as board_command
from bench.base.board import BOARD
from bench.base.board_file import entrant, read
from bench.base.errors import UserError
from bench.base.submissions import wrong_entrant
from bench.store.stored_run import StoredRun
from bench.sweep.protocol import verify
from bench.sweep.protocol.phases import cells
from bench.sweep.protocol.pieces import composed
from bench.sweep.protocol.submission import Submission, read_submission
from bench.sweep.protocol.verify import check_complete, difference, kind_of_machine, machines_of, pack, submitted
from tests.helpers.cli import python

METHOD = '''"""D-SGD under another name."""

from typing import NamedTuple

from torch import Tensor

from bench.method import Algorithm, Grad, Mix, algorithm


class State(NamedTuple):
    x: Tensor


@algorithm("mine", vectors_per_step=1, fixed_point="near", cite="folklore")
class Mine(Algorithm):
    """X⁺ = W (X − η_t G(X))"""

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> State:
        return State(x)

    def step(self, s: State, t: int, grad: Grad, mix: Mix) -> State:
        (x,) = mix(s.x - self.eta[t] * grad(s.x, t))
        return State(x)
'''
ASYNCHRONOUS = "# @package _global_\ndefaults: [{override /engine: events}, {override /network: lan}]\n"
HEADER = "ruleset,workload,method,algo.schedule,algo.eta\n"
CHOSEN = "tuned,A,twin,fixed,0.1\n", "tuned,B,twin,fixed,0.1\n", "dev,all,twin,fixed,0.3\n"
ENTRANT = {"method": "mine", "stepsize": "eta", "grid": "follow"}


@pytest.fixture
def written(small):
    """Write the files of a submission; return its folder."""
    for name in ("rules.md", "targets.csv", "chosen.csv"):
        (small / name).write_text("frozen", encoding="utf-8")
    folder = small.parent / "submissions" / "twin"
    (folder / "conf" / "algo").mkdir(parents=True)
    (folder / "mine.py").write_text(METHOD, encoding="utf-8")
    (folder / "conf" / "algo" / "mine.yaml").write_text(
        "name: mine\nschedule: diminishing\neta: 0.01\n", encoding="utf-8"
    )
    said = {"version": read(small).version(), "authors": "A", "paper": "none", "file": "mine.py", "entrant": ENTRANT}
    (folder / "submission.yaml").write_text(yaml.safe_dump(said), encoding="utf-8")
    (folder / "chosen.csv").write_text(HEADER + "".join(CHOSEN), encoding="utf-8")
    return folder


def rows_of(*losses):
    return [{"step": t, "node_loss": loss, "gradients": 4.0 * t, "wall_s": 0.1} for t, loss in enumerate(losses)]


def test_rows_that_are_equal_but_for_times_do_not_differ():
    other = [{**row, "wall_s": 9.0} for row in rows_of(1.0, math.nan)]
    assert difference(rows_of(1.0, math.nan), other) is None


@pytest.mark.parametrize("value", [math.nextafter(0.5, 1), -0.5, None, math.nan])
def test_a_changed_value_is_named_with_its_step(value):
    sentence = difference(rows_of(1.0, 0.5), rows_of(1.0, value))
    assert sentence
    assert "node_loss" in sentence
    assert "step 1" in sentence
    assert "0.5" in sentence


def test_removed_rows_and_columns_are_named():
    assert "1 evaluations" in str(difference(rows_of(1.0, 0.5), rows_of(1.0)))
    fewer = [{key: value for key, value in row.items() if key != "gradients"} for row in rows_of(1.0)]
    assert "'gradients'" in str(difference(rows_of(1.0), fewer))


def test_missing_further_and_other_runs_are_refused(small):
    (found,) = [cell for cell in cells(read(small), "tune") if (cell.workload.name, cell.entrant.name) == ("A", "dsgd")]
    runs = composed([found], [])[0].runs
    whole = {run.run_id: [{"step": t} for t in StoredRun(run).due] for run in runs}
    check_complete(whole, runs)
    first = runs[0].run_id
    with pytest.raises(UserError, match=first):
        check_complete({name: rows for name, rows in whole.items() if name != first}, runs)
    with pytest.raises(UserError, match="strange-run"):
        check_complete({**whole, "strange-run": []}, runs)
    with pytest.raises(UserError, match=first):
        check_complete({**whole, first: [{"step": 7}]}, runs)


def test_a_table_without_a_needed_column_is_refused(tmp_path):
    file = tmp_path / "runs.parquet"
    pq.write_table(pa.table({"run_id": ["a"], "step": [0], "gradients": [1.0]}), file)
    with pytest.raises(UserError, match="node_loss"):
        submitted(file)
    file.write_bytes(b"no table")
    with pytest.raises(UserError, match=r"runs\.parquet"):
        submitted(file)


def test_the_size_of_a_submission_is_limited(tmp_path, monkeypatch):
    table = pa.table({"run_id": ["a", "a"], "step": [0, 1], "node_loss": [1.0, 1.0], "gradients": [0.0, 1.0]})
    pq.write_table(table, tmp_path / "runs.parquet")
    monkeypatch.setattr(verify, "SUBMITTED", 2)
    assert [len(rows) for rows in submitted(tmp_path / "runs.parquet").values()] == [2]
    monkeypatch.setattr(verify, "SUBMITTED", 1)
    with pytest.raises(UserError, match=r"\b2\b.* 1\."):
        submitted(tmp_path / "runs.parquet")


@pytest.mark.parametrize(
    ("name", "shown"), [(["a"], "'run_id'.* 'list<"), ({"a": 1}, "'struct<"), (1, " 1"), (None, "None")]
)
def test_a_run_id_that_is_no_name_is_refused(tmp_path, name, shown):
    table = pa.table({"run_id": [name], "step": [0], "node_loss": [1.0], "gradients": [1.0]})
    pq.write_table(table, tmp_path / "runs.parquet")
    with pytest.raises(UserError, match=shown):
        submitted(tmp_path / "runs.parquet")


def test_a_submitted_table_that_is_a_link_is_refused(tmp_path):
    table = pa.table({"run_id": ["a"], "step": [0], "node_loss": [1.0], "gradients": [1.0]})
    pq.write_table(table, tmp_path / "other")
    assert [*submitted(tmp_path / "other")] == ["a"]
    (tmp_path / "runs.parquet").symlink_to(tmp_path / "other")
    with pytest.raises(UserError, match=r"runs\.parquet"):
        submitted(tmp_path / "runs.parquet")


def test_machines_that_are_no_text_are_shown(tmp_path):
    table = pa.table({"run_id": ["a"]}).replace_schema_metadata({b"machines": b"x\xff"})
    pq.write_table(table, tmp_path / "runs.parquet")
    assert machines_of(tmp_path / "runs.parquet") == "x\ufffd"


@pytest.mark.parametrize(
    ("key", "value"), [("paper", None), ("colour", "red"), ("file", "../mine.py"), ("file", "other.py")]
)
def test_a_wrong_key_is_named(written, small, key, value):
    file = written / "submission.yaml"
    said = {**yaml.safe_load(file.read_text("utf-8")), key: value}
    file.write_text(yaml.safe_dump(said), encoding="utf-8")
    with pytest.raises(UserError, match=key):
        read_submission("twin", small)


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"set": {"topology": "complete"}}, "topology"),
        ({"set": {"batch_size": 64}}, "batch_size"),
        ({"set": {"algo.eta=1 topology": "complete"}}, "complete|topology"),
        ({"set": [1, 2]}, r"\[1, 2\]"),
        ({"native": {"nodes": 2}}, "nodes"),
        ({"set": {"algo.name": "dsgt"}}, "algo.name.*'dsgt'"),
        ({"set": {"algo.schedule": "fixed"}}, "algo.schedule"),
        ({"set": {"algo.eta": 1}}, "algo.eta"),
        ({"set": {"topology.lazy": [True, False]}}, r"topology.lazy.*\[True, False\]"),
        ({"native": {"algo.eta": [0.1, 0.2]}}, r"algo.eta.*\[0.1, 0.2\]"),
        ({"native": {"algo.name": "dsgt"}}, "algo.name.*'dsgt'"),
        ({"reference": True}, "reference"),
        ({"schedules": 3}, "3"),
        ({"schedules": ["fixed", "diminishing"]}, "diminishing"),
        ({"grid": "other"}, "other"),
        ({"stepsize": ["eta"]}, "eta"),
        ({"method": "../../mine"}, "../../mine"),
        ({"set": {"algo.beta": "${oc.env:HOME}"}}, "submission.yaml.*environment"),
        ({3: "follow"}, "3"),
    ],
    ids=str,
)
def test_an_entrant_that_changes_the_problem_or_the_board_is_refused(written, small, values, wrong):
    file = written / "submission.yaml"
    said = yaml.safe_load(file.read_text("utf-8"))
    file.write_text(yaml.safe_dump({**said, "entrant": {**ENTRANT, **values}}), encoding="utf-8")
    with pytest.raises(UserError, match=wrong):
        read_submission("twin", small)


def test_options_with_an_interpolation_or_behind_a_link_are_refused(written, small, tmp_path):
    options = written / "conf" / "algo" / "mine.yaml"
    options.write_text("name: mine\nschedule: diminishing\neta: ${oc.env:HOME}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"mine\.yaml.*environment"):
        read_submission("twin", small)
    options.unlink()
    (tmp_path / "elsewhere").write_text("name: mine\n", encoding="utf-8")
    options.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"mine\.yaml is a link"):
        read_submission("twin", small)


def test_a_submission_may_set_options_of_its_method_and_a_lazy_matrix():
    allowed = {
        "set": {"algo.beta": 0.1, "topology.lazy": True},
        "native": {"algo.eta": 1, "algo.schedule": "fixed"},
        "schedules": ["fixed"],
    }
    assert wrong_entrant("twin", {**ENTRANT, **allowed}, ["dsgd"]) is None
    assert wrong_entrant("twin", {"stepsize": None}, ["dsgd"]) is None
    assert "stepsize" in wrong_entrant("twin", {"method": "dsgd"}, ["dsgd"])


@pytest.mark.parametrize(
    "text",
    [
        "# @package _global_\nbatch_size: 64\nalgo: {name: mine}\n",
        "defaults: [{override /topology: complete}]\nname: mine\n",
        "# @package _global_\ndefaults: [{override /topology: complete}]\nalgo: {name: mine}\n",
    ],
)
def test_options_that_change_the_problem_are_refused(written, small, text):
    (written / "conf" / "algo" / "mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"mine\.yaml"):
        read_submission("twin", small)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("name: dsgd\nschedule: diminishing\neta: 0.01\n", "'dsgd'"),
        ("schedule: diminishing\neta: 0.01\n", "None"),
        (f"{ASYNCHRONOUS}algo: {{name: swift, schedule: diminishing, eta: 0.01}}\n", "'swift'"),
        (f"{ASYNCHRONOUS}algo: 3\n", "None"),
    ],
)
def test_options_that_run_another_method_are_refused(written, small, text, shown):
    """As those of a copied file whose name was not changed."""
    (written / "conf" / "algo" / "mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=f"'mine'.*{shown}"):
        read_submission("twin", small)


def test_other_configuration_files_are_refused(written, small):
    (written / "conf" / "dataset").mkdir()
    (written / "conf" / "dataset" / "letter.yaml").write_text("name: digits\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"letter\.yaml"):
        read_submission("twin", small)


@pytest.mark.parametrize("name", ["submission.yaml", "conf/algo/mine.yaml"])
def test_an_invalid_yaml_file_is_named(written, small, name):
    (written / name).write_text("a: [1\n b: 2", encoding="utf-8")
    with pytest.raises(UserError, match=name.rpartition("/")[2]):
        read_submission("twin", small)


def test_a_submission_with_the_name_of_an_entrant_is_refused(written, small):
    written.rename(written.with_name("dsgd"))
    with pytest.raises(UserError, match="'dsgd'"):
        read_submission("dsgd", small)


@pytest.mark.parametrize("text", ["a: [1", "3", "[]", "grid: 3", "schedules: 3", ""])
def test_a_broken_board_is_named(small, text):
    (small / "board.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"board\.yaml"):
        read(small)


def test_the_salt_draws_the_cells_that_are_computed_again(small):
    twin = Submission("twin", small, "", entrant("twin", ENTRANT, read().grids), small)
    found = [cell for cell in cells(read(), "tune") if cell.entrant.name == "dsgd"]

    def drawn(salt):
        return [cell.workload.name for cell in twin.sample(found, salt)]

    assert len(found) == 7 + 4  # workloads and side tables
    assert drawn("one") == drawn("one")
    assert {name for salt in range(100) for name in drawn(str(salt))} == {cell.workload.name for cell in found}


def test_a_submission_of_the_quick_size_needs_no_version(written, small):
    file = written / "submission.yaml"
    said = yaml.safe_load(file.read_text("utf-8"))
    del said["version"]
    file.write_text(yaml.safe_dump({**said, "size": "tiny"}), encoding="utf-8")
    with pytest.raises(UserError, match="tiny"):
        read_submission("twin", small)
    file.write_text(yaml.safe_dump(said), encoding="utf-8")
    with pytest.raises(UserError, match="version"):
        read_submission("twin", small)


@pytest.mark.thorough
def test_the_example_is_accepted():
    """A salt whose cell takes seconds. The last bits of a run depend on the machine."""
    host = {"machine": platform.machine(), "cores": os.cpu_count()}
    machine = kind_of_machine({"host": host, "versions": {"torch": torch.__version__}})
    if machines_of(BOARD.parent / "submissions" / "example" / "runs.parquet") != machine:
        pytest.skip(f"the example was computed on another machine than {machine}")
    done = python("bench/board.py", "check", "example", "--salt", "9")
    assert done.returncode == 0, done.stderr
    assert "report D1" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (None, r"chosen\.csv"),
        ((), "'tuned A'"),
        ((CHOSEN[0], CHOSEN[2]), "'tuned B'"),
        (CHOSEN[:2], "'dev all'"),
        ((*CHOSEN, "tuned,A,dsgd,fixed,0.1\n"), "'dsgd'"),
    ],
)
def test_a_choice_without_all_its_rows_is_refused(written, small, rows, shown, monkeypatch, capsys):
    """By the report phase too, which would have no or too few runs."""
    twin = Submission("twin", written, "", entrant("twin", {**ENTRANT, "method": "dsgd"}, read().grids), small)
    assert {cell.phase for cell in twin.cells()} == {"dev", "tune", "report"}
    file = written / "chosen.csv"
    if rows is None:
        file.unlink()
    else:
        file.write_text(HEADER + "".join(rows), encoding="utf-8")
    with pytest.raises(UserError, match=f"{shown}.*--submission twin"):
        twin.cells()
    monkeypatch.setattr(board_command, "read_submission", lambda *_: twin)
    words = ["--submission", "twin", "--board", str(small)]
    assert board_command.main(["run", "report", *words]) == 2
    assert re.search(shown, capsys.readouterr().err)


def test_damaged_and_stale_runs_are_not_packed(small, tmp_path, monkeypatch):
    words = [f"results={tmp_path / 'results'}"]
    chosen = ("A", "dsgd")
    found = [cell for cell in cells(read(small), "tune") if (cell.workload.name, cell.entrant.name) == chosen]
    runs = composed(found, words)[0].runs
    assert board_command.main(["run", "tune", "--board", str(small), "--workload", "A", *words]) == 0
    submission = SimpleNamespace(cells=lambda: found, folder=tmp_path)
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "runs.parquet").hardlink_to(tmp_path / "old")
    assert pack(submission, words) == len(runs)
    assert (tmp_path / "old").read_bytes() == b"old"  # a new file replaced the old one at once
    with monkeypatch.context() as patch:
        patch.setattr("bench.sweep.resume.fingerprint", lambda _: "another")
        with pytest.raises(UserError, match=f"{runs[0].run_id}.*stale=rerun"):
            pack(submission, words)
        assert pack(submission, [*words, "stale=keep"]) == len(runs)
    # the table of another run is a valid one, but does not match the digest of the run
    one, other = (StoredRun(run).path / "metrics.parquet" for run in runs[:2])
    one.write_bytes(other.read_bytes())
    with pytest.raises(UserError, match=runs[0].run_id):
        pack(submission, words)


@pytest.mark.thorough
def test_a_submission_is_accepted_until_a_row_is_tampered_with(written, small, tmp_path):
    relative = "nowhere/../board/v1"  # the processes of runs know the file of the method by its whole path
    (tmp_path / "nowhere").mkdir()

    def board(*words):
        return python("bench/board.py", *words, "--board", relative, f"results={tmp_path / 'results'}", cwd=tmp_path)

    for phase in ("dev", "tune", "report"):
        done = board("run", phase, "--submission", "twin")
        assert done.returncode == 0, done.stderr
    done = board("check", "twin", "--pack")
    assert done.returncode == 0, done.stderr
    done = board("check", "twin")
    assert done.returncode == 0, done.stderr
    assert re.search(r"--salt \w{32}$", done.stdout, re.MULTILINE)
    table = pq.read_table(written / "runs.parquet")
    losses = [value * (1 - 1e-12) for value in table["node_loss"].to_pylist()]
    place = table.column_names.index("node_loss")
    pq.write_table(table.set_column(place, "node_loss", pa.array(losses)), written / "runs.parquet")
    done = board("check", "twin")
    assert done.returncode == 2
    assert "node_loss" in done.stderr


def test_links_and_large_files_of_a_submission_are_not_read(written, small):
    twin = Submission("twin", written, "", entrant("twin", {**ENTRANT, "method": "dsgd"}, read().grids), small)
    chosen = written / "chosen.csv"
    chosen.write_bytes(chosen.read_bytes() + b"\n" * 400_000)
    with pytest.raises(OSError, match="GB"):
        twin.chosen()
    chosen.rename(small / "mine.csv")
    chosen.symlink_to(small / "mine.csv")
    with pytest.raises(OSError, match="link"):
        twin.chosen()
    file = written / "submission.yaml"
    file.rename(small / "mine.yaml")
    file.symlink_to(small / "mine.yaml")
    with pytest.raises(UserError, match=r"submission\.yaml.*link"):
        read_submission("twin", small)
