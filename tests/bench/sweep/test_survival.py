"""Runs that are killed, disturbed, repeated and done twice at once lose nothing and invent nothing."""

import io
import json
import os
import pty
import random
import re
import select
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from rich.console import Console

from analysis import load
from analysis.results.errors import NoData
from bench.base.errors import UserError
from bench.build import material
from bench.build.manifest import describe
from bench.engine import stacked
from bench.store.disk import Pace
from bench.store.files import FOREIGN, check_rows, read_json, stream_of, write_json
from bench.store.run_folder import RunFolder
from bench.sweep.resume import resume_point
from bench.sweep.sweep import run_all
from bench.sweep.workers import Executor
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.observer import Outcome, Snapshot
from tests.helpers.claims import QUIET
from tests.helpers.cli import ROOT, typed
from tests.helpers.configs import Kept, config, rows
from tests.helpers.disks import on_a_disk
from tests.helpers.run_folders import TIMES, claimed, folders, metrics, state

COUNTS = [np.zeros(9, dtype=np.int64)]
LONG = ("dataset=digits", "steps=1000", "eval_every=25", "checkpoint_every=40", "nodes=4", "batch_size=8")
SHORT = ("dataset=digits", "steps=60", "eval_every=20", "nodes=4", "batch_size=8", "engine=stacked")


def readable(results: Path) -> None:
    """Every file is whole: JSON parses, and what a stream holds is a beginning of what it should."""
    for folder in folders(results):
        for path in folder.glob("*.json"):
            json.loads(path.read_text())
        steps = [row["step"] for row in check_rows(folder / "metrics.jsonl")[0]]
        assert steps == sorted(set(steps))
    load(results)


def killed_and_resumed(tmp_path: Path, engine: str, chance: random.Random, expected: pd.DataFrame) -> int:
    """Kill a run at random moments until it is done; how many times it went on from a checkpoint."""
    words = [*LONG, f"engine={engine}", f"results={tmp_path}"]
    longest = 4.0 if engine == "mpi" else 2.0
    for _ in range(chance.choice([1, 1, 2])):
        typed(*words, cwd=tmp_path, kill_after=chance.uniform(0.1, longest))
        if (tmp_path / "runs").exists():
            readable(tmp_path)
    done = typed(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = folders(tmp_path)
    assert state(folder)["state"] == "done"
    pd.testing.assert_frame_equal(metrics(folder), expected, check_exact=True)
    assert not (folder / "checkpoint").exists()
    assert not (folder / "metrics.jsonl").exists()
    return len(json.loads((folder / "manifest.json").read_text()).get("resumed", []))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The metrics of the long run on an engine, when nobody kills it."""

    @cache
    def on(engine: str) -> pd.DataFrame:
        results = tmp_path_factory.mktemp(engine)
        assert typed(*LONG, f"engine={engine}", f"results={results}", cwd=results).returncode == 0
        return metrics(folders(results)[0])

    return on


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.xdist_group("mpi")
def test_killed_runs_go_on_to_the_same_end(undisturbed, tmp_path):
    """As many as the environment says: make faults asks for more. One process is killed in test_groups.py."""
    chance, resumed, rounds = random.Random(7), 0, int(os.environ.get("HEARSAY_TEST_KILLS", 1))
    for round in range(rounds):
        (tmp_path / str(round)).mkdir()
        engine = "stacked" if round % 3 else "mpi"
        resumed += killed_and_resumed(tmp_path / str(round), engine, chance, undisturbed(engine))
    assert resumed >= 3 * rounds // 8  # or the test has not tested much


@pytest.mark.parametrize("algo", ["dsgd", "dsgt", "dasagt", "dnasa", "d2"])
def test_every_method_resumes_bit_for_bit_and_on_any_number_of_processes(algo, tmp_path):
    topology = {"name": "ring", "lazy": algo == "d2"}
    c = config(algo=algo, topology=topology, nodes=5, steps=50, checkpoint_every=20)
    whole = Kept()

    class Keeper(Kept):
        def checkpoint(self, r: int, moment: Snapshot) -> None:
            for nodes in (range(2), range(2, 5)):  # as two processes would
                part = {name: tensor[:, nodes] for name, tensor in moment.state.items()}
                checkpoint.write(tmp_path / "c", replace(moment, state=part), nodes)
            self.rows_then = list(self.rows[0])

    keeper = Keeper()
    stacked.run([c], keeper)
    stacked.run([config(algo=algo, topology=topology, nodes=5, steps=50)], whole)
    assert checkpoint.steps(tmp_path / "c", 5) == [40, 20]
    rest = Kept()
    stacked.run([c], rest, Resume(40, [tmp_path / "c"], [keeper.rows_then[-1]]))
    assert [row["step"] for row in rest.rows[0]] == [50]
    for name, value in rest.rows[0][-1].items():
        if name not in TIMES:
            assert value == whole.rows[0][-1][name], name
    assert rest.rows[0][-1]["wall_s"] >= keeper.rows_then[-1]["wall_s"]
    assert rest.ends == {0: Outcome("done", 50)}
    one = checkpoint.load(Resume(40, [tmp_path / "c"], [{}]), range(1, 4), torch.float64, torch.device("cpu"))
    assert all(tensor.shape[:2] == (1, 3) for tensor in one.state.values())


def test_only_the_last_two_whole_checkpoints_count(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "pace", Pace())
    state = {"x": torch.arange(6.0).view(1, 3, 2)}
    seconds = [dict.fromkeys(TIMES, 1.0)]
    for step in (10, 20, 30, 40):
        checkpoint.write(tmp_path / "c", Snapshot(step, state, seconds, [{}], COUNTS), range(3))
    assert checkpoint.steps(tmp_path / "c", 3) == [40, 30]
    assert checkpoint.steps(tmp_path / "c", 4) == []
    newest = tmp_path / "c" / "40.0-2.npz"
    newest.write_bytes(newest.read_bytes()[:-30])
    assert checkpoint.steps(tmp_path / "c", 3) == [30]
    moment = checkpoint.load(Resume(30, [tmp_path / "c"], [{}]), range(1, 3), torch.float64, torch.device("cpu"))
    assert moment.state["x"].tolist() == [[[2, 3], [4, 5]]]
    assert moment.seconds == seconds
    slow = Snapshot(30, state, [dict.fromkeys(TIMES, 9.0)], [{}], COUNTS)
    checkpoint.write(tmp_path / "d", slow, range(3))
    both = Resume(30, [tmp_path / "c", tmp_path / "d"], [{}, {}])
    pair = checkpoint.load(both, range(3), torch.float64, torch.device("cpu"))
    assert [each["wall_s"] for each in pair.seconds] == [1.0, 9.0]  # each replica goes on from its own seconds


def test_a_checkpoint_without_its_rows_is_not_used(tmp_path):
    """Ranks write checkpoints, the runner rows: a kill may come between the two."""
    c = config(results=str(tmp_path), steps=40, eval_every=10)
    with claimed(c) as folder:
        folder.begin(describe(folder.config))
        for row in rows(c)[0][:3]:
            folder.record(row)
        moment = Snapshot(30, {"x": torch.zeros(1, 6, 2)}, [dict.fromkeys(TIMES, 0.0)], [{}], COUNTS)
        checkpoint.write(folder.checkpoints, moment, range(6))
        assert resume_point(folder) is None
        checkpoint.write(folder.checkpoints, Snapshot(25, moment.state, moment.seconds, [{}], COUNTS), range(6))
        step, kept = resume_point(folder)
        assert (step, [row["step"] for row in kept]) == (25, [0, 10, 20])
        manifest = folder.manifest()
        without = {**manifest, "columns": manifest["columns"][:-1]}
        write_json(folder.path / "manifest.json", without)
        assert resume_point(folder) is None  # rows with other columns are not gone on with
        write_json(folder.path / "manifest.json", {**manifest, "versions": {**manifest["versions"], "numpy": "2.2.0"}})
        assert resume_point(folder) is None  # as on another host: half a run would be of each version


def test_later_checkpoints_are_deleted_when_a_run_resumes_from_an_earlier_one(tmp_path, monkeypatch):
    """The two highest steps are kept: later checkpoints without rows would replace each new one."""
    c = config(results=str(tmp_path), algo="dsgd", steps=400, eval_every=10, checkpoint_every=20)
    compute, write, found = Executor._compute, checkpoint.write, []

    def stopped(folder, moment, *words):
        write(folder, moment, *words)
        if moment.step == stop:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "write", stopped)
    stop = 40
    with pytest.raises(KeyboardInterrupt):
        run_all([c], QUIET)
    folder = RunFolder(c)
    early = {path: path.read_bytes() for path in folder.checkpoints.iterdir()}
    lines = folder.stream.read_text()
    stop = 200
    with pytest.raises(KeyboardInterrupt):
        run_all([c], QUIET)
    for path, content in early.items():
        path.write_bytes(content)
    folder.stream.write_text(lines)
    stop = 100

    def computed(self, *words):
        found.append(checkpoint.steps(folder.checkpoints, c.nodes))
        compute(self, *words)

    monkeypatch.setattr(Executor, "_compute", computed)
    with pytest.raises(KeyboardInterrupt):
        run_all([c], QUIET)
    assert found == [[40, 20]]
    assert resume_point(folder)[0] == 100


def test_a_checkpoint_of_another_start_is_not_used(tmp_path):
    """A rank that was paused may write after another process has started the run again, with other source."""
    c = config(results=str(tmp_path), steps=40, eval_every=10)
    first = rows(c)[0][:3]
    moment = Snapshot(20, {"x": torch.zeros(1, 6, 2)}, [dict.fromkeys(TIMES, 0.0)], [{}], COUNTS)
    with claimed(c) as folder:
        folder.begin(describe(c))
        old = checkpoint.start_of(folder.checkpoints)
        folder.begin(describe(c))
        for row in first:
            folder.record(row)
        checkpoint.write(folder.checkpoints, moment, range(6), start=old)
        assert resume_point(folder) is None
        assert checkpoint.damage(folder.checkpoints) == {"20.0-5.npz": FOREIGN}
        checkpoint.write(folder.checkpoints, moment, range(6), start=folder.start)
        assert resume_point(folder)[0] == 20
        folder.begin(describe(c, folder.manifest()), 20, first)
        assert resume_point(folder)[0] == 20  # the id of a resumed run stays
        write_json(folder.path / "manifest.json", {k: v for k, v in folder.manifest().items() if k != "start"})
        checkpoint.write(folder.checkpoints, moment, range(6))
        assert resume_point(folder)[0] == 20  # a run of an earlier version has no id
        folder.begin(describe(c, folder.manifest()), 20, first)
        assert resume_point(folder)[0] == 20
        folder.begin(describe(c, folder.manifest()), 25, first)  # between two evaluations
        assert folder.manifest()["resumed"] == [20, 20, 25]
        assert "after step 25:" in (folder.path / "log.txt").read_text().splitlines()[-1]


def test_going_on_takes_the_columns_from_the_manifest(tmp_path, monkeypatch):
    """To know their names, no problem is made; the data are read for their checksum alone."""
    c = config(results=str(tmp_path), dataset="digits", steps=40, eval_every=10)
    with claimed(c) as folder:
        folder.begin(describe(c))
        for row in rows(c)[0][:3]:
            folder.record(row)
        checkpoint.write(
            folder.checkpoints,
            Snapshot(25, {"x": torch.zeros(1, 6, 2)}, [dict.fromkeys(TIMES, 0.0)], [{}], COUNTS),
            range(6),
        )
        monkeypatch.setattr(material, "loss_of", None)  # to call it is an error
        monkeypatch.setattr(material, "shards", None)
        assert resume_point(folder)[0] == 25
        again, before = describe(c, folder.manifest()), folder.manifest()
        assert [again["columns"], again["data"]] == [before["columns"], before["data"]]


def test_damaged_results_are_made_again_and_never_believed(tmp_path):
    words = [*SHORT, "-m", "seed=0,1,2"]
    assert typed(*words, cwd=tmp_path).returncode == 0
    status, parquet, _ = folders(tmp_path / "results")
    expected = metrics(parquet)
    (status / "status.json").write_text('{"state": "do')
    whole = (parquet / "metrics.parquet").read_bytes()
    (parquet / "metrics.parquet").write_bytes(whole[: len(whole) // 2])
    table = load(tmp_path / "results")
    assert table.attrs["unreadable"] == [status.name, parquet.name]
    assert table["run_id"].nunique() == 1
    done = typed(*words, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.count("done at step 60") == 2
    assert done.stdout.count("by engine stacked") == 1
    assert f"{status.name}: status.json {FOREIGN}." in done.stdout
    assert f"{parquet.name}: metrics.parquet {FOREIGN}." in done.stdout
    assert (status / "damaged" / "status.json.0").read_text() == '{"state": "do'
    assert (parquet / "damaged" / "metrics.parquet.0").read_bytes() == whole[: len(whole) // 2]
    assert f"metrics.parquet {FOREIGN}" in (parquet / "log.txt").read_text()
    pd.testing.assert_frame_equal(metrics(parquet), expected, check_exact=True)
    assert load(tmp_path / "results").attrs["unreadable"] == []


def test_a_changed_source_stops_the_command_unless_stale_is_set(tmp_path):
    c = config(results=str(tmp_path))

    def shown(**changes) -> str:
        sink = io.StringIO()
        assert run_all([replace(c, **changes)], Console(file=sink, width=200)) == 0
        return sink.getvalue()

    assert "done at step 40" in shown()
    (folder,) = folders(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    write_json(folder / "manifest.json", {**manifest, "fingerprint": "0123"})
    with pytest.raises(UserError, match=f"1 of 1 runs .*{folder.name}.*stale=rerun"):
        shown()
    assert "done before" in shown(stale="keep")
    assert "done at step 40" in shown(stale="rerun")
    assert json.loads((folder / "manifest.json").read_text())["fingerprint"] == manifest["fingerprint"]
    assert "done before" in shown()
    assert "done at step 40" in shown(force=True)


@pytest.mark.thorough
def test_two_sweeps_at_once_run_everything_once(tmp_path):
    words = [str(ROOT / "bench/run.py"), *SHORT, "-m", "seed=range(6)", "steps=400"]
    both = [
        subprocess.Popen([sys.executable, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=90)[0].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    for folder in folders(tmp_path / "results"):
        assert (folder / "log.txt").read_text().count("starts") == 1
        assert state(folder)["state"] == "done"
    assert all(text.count("│ done  │") == 6 for text in said), said


@pytest.mark.thorough
@pytest.mark.xdist_group("mpi")
def test_jobs_side_by_side_give_the_same_metrics(tmp_path):
    words = [
        "dataset=digits",
        "steps=60",
        "eval_every=20",
        "nodes=4",
        "batch_size=8",
        "dtype=float64",
        "-m",
        "seed=0,1,2",
    ]
    for name, more in (("one", ["engine=stacked"]), ("two", ["engine=stacked", "jobs=2"]), ("mpi", ["jobs=2"])):
        done = typed(*words, *more, f"results={name}", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    for one, *others in zip(*(folders(tmp_path / name) for name in ("one", "two", "mpi")), strict=True):
        for other in others:
            pd.testing.assert_frame_equal(metrics(other), metrics(one), rtol=1e-9, atol=1e-20)
    assert json.loads((other / "manifest.json").read_text())["ranks"] == max(1, len(os.sched_getaffinity(0)) // 2)


@pytest.mark.thorough
def test_a_full_disk_gives_a_sentence_and_what_was_done_stays(tmp_path):
    disk = tmp_path / "disk"
    command = f"'{sys.executable}' '{ROOT}/bench/run.py' {' '.join(SHORT)} results='{disk}'"
    fill = f"head -c 500k /dev/zero > '{disk}/filler' 2>/dev/null"
    look = f"cp -r '{disk}/runs' '{tmp_path}/copy'"
    done = on_a_disk(disk, "size=200k", f"{command} seed=0; {fill}; {command} -m seed=0,1; echo exit $?; {look}")
    assert "exit 1" in done.stdout, done.stdout + done.stderr
    assert "Cannot write to" in done.stdout
    assert "No space left" in done.stdout
    assert "Traceback" not in done.stderr
    assert re.search(r"│ +0 +│ done|done +│", done.stdout)
    first = next(path for path in (tmp_path / "copy").iterdir() if "-s0-" in path.name)
    assert len(pq.read_table(first / "metrics.parquet")) == 4
    assert state(first)["state"] == "done"


@pytest.mark.thorough
def test_a_read_only_results_folder_gives_a_sentence(tmp_path):
    disk = tmp_path / "disk"
    command = f"'{sys.executable}' '{ROOT}/bench/run.py' {' '.join(SHORT)} results='{disk}'"
    done = on_a_disk(disk, "ro", f"{command} -m seed=0,1; echo exit $?")
    assert "exit 2" in done.stdout
    assert done.stderr.count(": Read-only file system.") == 1
    assert "Traceback" not in done.stderr + done.stdout


def test_status_tells_what_there_is_and_what_is_missing(tmp_path):
    assert typed(*SHORT, "-m", "seed=0,1", cwd=tmp_path).returncode == 0
    one, two = folders(tmp_path / "results")
    killed = {"state": "running", "step": 20, "error": None}
    for run, status in ((one, killed), (two, {**killed, "state": "failed", "error": "rank 1 went away"})):
        write_json(run / "status.json", status)
        write_json(run / "summary.json", {**read_json(run / "summary.json"), "state": status["state"]})
    done = typed("results", cwd=tmp_path, script="bench/status.py")
    assert done.returncode == 0
    assert "2 runs: 1 interrupted, 1 failed" in done.stdout
    assert f"{two.name} failed: rank 1 went away" in done.stdout
    assert "log.txt" in done.stdout
    done = typed("results", *SHORT, "seed=0,1,2,3", cwd=tmp_path, script="bench/status.py")
    assert "4 runs: 2 missing, 1 interrupted, 1 failed" in done.stdout
    done = typed("nowhere", cwd=tmp_path, script="bench/status.py")
    assert (done.returncode, "'nowhere'" in done.stderr) == (2, True)
    done = typed("results", "algo=dnaza", cwd=tmp_path, script="bench/status.py")
    assert done.returncode == 2
    assert "Did you mean 'dnasa'?" in done.stderr


def screen(command: list[str], cwd: Path, width: int = 120) -> tuple[str, int]:
    """What a terminal is sent."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(width), "LINES": "40"}
    process = subprocess.Popen(command, cwd=cwd, stdin=child, stdout=child, stderr=child, env=environment)
    os.close(child)
    out = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([parent], [], [], 0.2)[0]:
            try:
                piece = os.read(parent, 1 << 16)
            except OSError:
                break
            if not piece:
                break
            out += piece
        elif process.poll() is not None:
            break
    os.close(parent)
    return out.decode(errors="replace"), process.wait(timeout=10)


@pytest.mark.thorough
def test_a_terminal_gets_bars_and_whole_lines(tmp_path):
    words = [str(ROOT / "bench/run.py"), *SHORT, "-m", "seed=0,1", "steps=2000", "eval_every=100"]
    text, code = screen([sys.executable, *words], tmp_path)
    assert code == 0, text
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert "2 running of 2" in plain
    assert "2 × dnasa-digits" in plain
    assert re.search(r"\d+/2000 median loss [\d.]+  median accuracy [\d.]+ %", plain)
    assert [
        line
        for line in plain.replace("\r", "\n").split("\n")
        if re.fullmatch(r"\[2/2\] \S+: done at step 2000 *", line)
    ]
    assert plain.count("│ done  │") == 2


def test_lines_without_a_terminal(tmp_path):
    done = typed(*SHORT, "-m", "seed=0,1", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert [line.split(":")[1] for line in lines[:2]] == [" done at step 60"] * 2
    assert "\x1b" not in done.stdout


def test_the_tidy_table_is_labels_times_metrics_and_needs_no_torch(tmp_path):
    assert typed(*SHORT, "-m", "algo=dnasa,dsgt", "seed=0,1", cwd=tmp_path).returncode == 0
    table = load(tmp_path / "results")
    assert len(table) == 4 * 4
    assert table.groupby(["algo", "seed"]).size().tolist() == [4, 4, 4, 4]
    assert set(table[table.algo == "dsgt"].eta) == {3.0}
    assert table[table.step == 60].test_accuracy.notna().all()
    first = folders(tmp_path / "results")[0]
    own = table[table.run_id == first.name][["step", "test_loss"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(own, metrics(first)[["step", "test_loss"]])
    (first / "metrics.parquet").unlink()
    summary = json.loads((first / "summary.json").read_text())
    write_json(first / "summary.json", {**summary, "state": "running"})
    stream = stream_of([{"step": 0, "test_loss": 1.5}], first.name)[0]
    (first / "metrics.jsonl").write_text(stream + '{"step": 20, "te')
    partial = load(tmp_path / "results")
    assert len(partial) == 13
    assert partial[partial.run_id == first.name].test_loss.tolist() == [1.5]
    code = "import sys, analysis; print(sorted({'torch', 'mpi4py', 'yaml', 'hydra'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
    (tmp_path / "empty" / "runs").mkdir(parents=True)
    assert load(tmp_path / "empty").empty
    with pytest.raises(NoData, match="results folder"):
        load(tmp_path / "nowhere")
    assert np.isfinite(table.wall_s).all()


def test_an_interruption_while_a_group_begins_touches_only_what_had_begun(tmp_path, monkeypatch):
    configs = [config(results=str(tmp_path), seed=seed) for seed in range(3)]
    quiet = Console(quiet=True)
    assert run_all(configs, quiet) == 0
    done = {folder.name: (folder / "metrics.parquet").read_bytes() for folder in folders(tmp_path)}
    again = [config(results=str(tmp_path), seed=seed, force=True) for seed in range(3)]
    begin, count = RunFolder.begin, []

    def interrupted(self, *arguments):
        count.append(self)
        if len(count) == 2:
            raise KeyboardInterrupt
        begin(self, *arguments)

    monkeypatch.setattr(RunFolder, "begin", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_all(again, quiet)
    states = [state(RunFolder(c).path)["state"] for c in again]
    assert states == ["interrupted", "done", "done"]
    for c in again[1:]:
        assert (RunFolder(c).path / "metrics.parquet").read_bytes() == done[c.run_id]


def test_status_survives_what_is_no_run(tmp_path):
    assert run_all([config(results=str(tmp_path))], Console(quiet=True)) == 0
    (tmp_path / "runs" / "stray").mkdir()
    done = typed(str(tmp_path), cwd=tmp_path, script="bench/status.py")
    assert done.returncode == 0, done.stderr
    assert "2 runs: 1 unreadable, 1 done" in done.stdout or "2 runs: 1 done, 1 unreadable" in done.stdout
    assert "stray is unreadable: summary.json is missing." in done.stdout


def test_the_words_of_a_run_cannot_add_a_line_to_status(tmp_path):
    run = config(results=str(tmp_path))
    assert run_all([run], Console(quiet=True)) == 0
    path = RunFolder(run).path
    kept = read_json(path / "status.json")
    for content in (
        {**kept, "state": "failed", "error": "x\n9 runs: 9 done"},
        {**kept, "error": ["x\n9 runs: 9 done"]},
    ):
        write_json(path / "status.json", content)
        summary = read_json(path / "summary.json")
        write_json(path / "summary.json", {**summary, "state": "failed", "algo": "a\n9 runs: 9 done"})
        done = typed(str(tmp_path), cwd=tmp_path, script="bench/status.py")
        assert done.returncode == 0, done.stderr
        assert "9 runs: 9 done" in done.stdout
        assert "9 runs: 9 done" not in done.stdout.splitlines()


def test_a_second_way_to_make_the_same_run_is_mentioned(tmp_path):
    done = typed(*SHORT, "-m", "checkpoint_every=10,20", cwd=tmp_path)
    assert done.returncode == 0
    assert "1 of 2 configurations" in done.stderr
    assert typed(*SHORT, cwd=tmp_path).stderr == ""
