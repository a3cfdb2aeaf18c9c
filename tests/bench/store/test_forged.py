"""Files of a run whose digests were made right, and that are not what hearsay writes."""

import io
import os
import shutil
import time
import tracemalloc
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
import torch
from rich.console import Console

from analysis import load
from bench import status
from bench.base.errors import Misfit
from bench.build.manifest import describe
from bench.engine import stacked
from bench.store import integrity
from bench.store.files import check_rows, lock_of, read_json, sha256, write_json
from bench.store.integrity import SUMS, examine
from bench.store.run_folder import RunFolder
from bench.sweep.resume import resume_point
from bench.sweep.sweep import run_all, run_sweep
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from tests.faults.harm_store import Killed, Until, finished, unfinished
from tests.helpers.configs import config
from tests.helpers.readers import status_of
from tests.helpers.run_folders import metrics

QUIET = Console(quiet=True)
CPU = torch.device("cpu")


@pytest.mark.parametrize("content", [b"", b"hello", b"PAR1PAR1", b"PAR1" + b"\xff" * 8 + b"PAR1"])
def test_metrics_that_are_no_table_are_damage_to_everybody(tmp_path, content):
    run = finished(tmp_path)
    (run.path / "metrics.parquet").write_bytes(content)
    summary = read_json(run.path / "summary.json")
    sums = {**summary[SUMS], "metrics.parquet": sha256(content)}
    write_json(run.path / "summary.json", {**summary, SUMS: sums})
    assert status.look_at_run(run.path)["state"] == "damaged"
    assert load(tmp_path).attrs["unreadable"] == [run.path.name]
    assert not run.final
    assert run_all([run.config], QUIET) == 0
    assert run.final
    assert load(tmp_path).attrs["unreadable"] == []


def reseal(path, **changes):
    """Other arrays in a checkpoint, and its digest made right."""
    arrays = {**(checkpoint.arrays(path) or {}), **changes}
    sink = io.BytesIO()
    np.savez(sink, **{name: array for name, array in arrays.items() if array is not None})
    path.write_bytes(sink.getvalue() + checkpoint._seal(checkpoint._names(path), sink.getvalue()))


FORGED = {
    "state of another size": {"x": np.zeros((6, 3))},
    "state that is missing": {"x": None},
    "state that no method has": {"what": np.zeros((6, 3))},
    "too few counts": {"counts": np.zeros(2, dtype=np.int64)},
    "counts that are not whole": {"counts": np.full(9, np.nan)},
    "one count": {"counts": np.int64(3)},
}


def forged_count(place, value):
    counts = np.array([30, 360, 360, 30, 60, 360, 3600, 230400, 29], dtype=np.int64)
    counts[place] = value
    return {"counts": counts}


FORGED |= {
    "counts of a type that overflows": {"counts": np.full(9, 120, dtype=np.int8)},
    "counts without end": {"counts": np.zeros(10**6, dtype=np.int64)},
    "a negative count": forged_count(0, -1),
    "a count that overflows": forged_count(0, 2**63 - 5),
    "state of a type that torch does not have": {"x": np.zeros((6, 10), dtype=np.longdouble)},
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_a_checkpoint_of_another_run_is_not_used(tmp_path, forged):
    run = unfinished(tmp_path)
    reseal(run.checkpoints / "30.0-5.npz", **forged)
    sink = io.StringIO()
    assert run_all([run.config], Console(file=sink, width=300)) == 0
    assert run.final
    assert run.manifest()["resumed"][-1] == 20
    assert "step 30" in sink.getvalue()


def test_counts_must_be_those_of_the_evaluation_at_their_step(tmp_path):
    run = unfinished(tmp_path)
    path = run.checkpoints / "20.0-5.npz"
    row = next(row for row in check_rows(run.stream)[0] if row["step"] == 20)
    resume = Resume(20, [run.checkpoints], [row])
    checkpoint.load(resume, range(6), torch.float64, CPU)
    for place in (1, 2, 3, 4, 6, 7):  # the columns of the row
        counts = (checkpoint.arrays(path) or {})["counts"].copy()
        before, counts[place] = counts.copy(), counts[place] + 8
        reseal(path, counts=counts)
        with pytest.raises(Misfit, match="20"):
            checkpoint.load(resume, range(6), torch.float64, CPU)
        reseal(path, counts=before)


IN_A_GROUP = {
    "round": lambda arrays: {"counts": arrays["counts"] + np.eye(len(arrays["counts"]), dtype=np.int64)[0]},
    "samples": lambda arrays: {"counts": arrays["counts"] + np.eye(len(arrays["counts"]), dtype=np.int64)[1]},
    "latest sample of a stream": lambda arrays: {"counts": np.append(arrays["counts"], 10**6)},
    "messages in flight": lambda arrays: {"network.sent.0": np.zeros((6, 1, 10))},
}


@pytest.mark.parametrize("forge", IN_A_GROUP.values(), ids=IN_A_GROUP)
@pytest.mark.parametrize("place", [0, 1])
def test_replicas_with_different_shared_counts_are_no_group(tmp_path, forge, place):
    runs = [unfinished(tmp_path / name) for name in "ab"]
    resume = Resume(30, [run.checkpoints for run in runs], [{}, {}])
    checkpoint.load(resume, range(6), torch.float64, CPU)
    path = runs[place].checkpoints / "30.0-5.npz"
    reseal(path, **forge(checkpoint.arrays(path) or {}))
    with pytest.raises(Misfit, match="30"):
        checkpoint.load(resume, range(6), torch.float64, CPU)


def test_a_forged_checkpoint_does_not_change_another_run_of_its_group(tmp_path):
    """The graph changes in each round, so that the number of the round determines the numbers of a run."""
    shared = {"algo": "dsgd", "topology": "one_peer_exponential", "nodes": 4, "checkpoint_every": 15}
    forged, honest = (config(results=str(tmp_path / "a"), seed=seed, **shared) for seed in (0, 1))
    alone = config(results=str(tmp_path / "b"), seed=1, **shared)
    folders = [RunFolder(run) for run in (forged, honest)]
    for folder in folders:
        folder.begin(describe(folder.config))
    with suppress(Killed):
        stacked.run([forged, honest], Until(folders, None))
    path = folders[0].checkpoints / "30.0-3.npz"
    reseal(path, **IN_A_GROUP["round"](checkpoint.arrays(path) or {}))
    assert run_all([forged, honest], QUIET) == run_all([alone], QUIET) == 0
    assert set(RunFolder(honest).manifest()["resumed"]) == {30}
    pd.testing.assert_frame_equal(metrics(RunFolder(honest).path), metrics(RunFolder(alone).path), check_exact=True)


def replaced(path, kind, outside):
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
        (path / "file").write_text("")
    elif kind == "file":
        path.write_text("")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(outside)


OTHERS = [(name, kind) for name in ("config.yaml", "metrics.parquet", "log.txt") for kind in ("folder", "fifo", "link")]


@pytest.mark.parametrize(("name", "kind"), [*OTHERS, ("damaged", "file"), ("damaged", "link")])
def test_what_is_not_a_regular_file_does_not_stop_a_run(tmp_path, name, kind):
    run, outside = unfinished(tmp_path / "results"), tmp_path / "outside"
    outside.mkdir()
    if name == "damaged":
        (run.path / "status.json").write_text("{}")  # must be moved there
        replaced(run.path / name, kind, outside)
    else:
        (outside / "precious").write_text("precious")
        replaced(run.path / name, kind, outside / "precious")
    assert run_all([run.config], QUIET) == 0
    assert run.final
    assert run.manifest()["resumed"] == [30]  # the step of the checkpoint
    moved = "status.json" if name == "damaged" else name
    assert moved in (run.path / "log.txt").read_text()
    assert os.path.lexists(run.path / "damaged" / f"{moved}.0")
    assert [path.read_text() for path in outside.iterdir()] == ([] if name == "damaged" else ["precious"])


def test_files_that_were_set_aside_before_are_not_replaced(tmp_path):
    run = unfinished(tmp_path)
    (run.path / "damaged" / "config.yaml.1" / "inner").mkdir(parents=True)
    replaced(run.path / "config.yaml", "folder", tmp_path)
    assert run_all([run.config], QUIET) == 0
    assert {path.name for path in (run.path / "damaged").iterdir()} == {"config.yaml.0", "config.yaml.1"}


def test_an_error_names_the_file_that_cannot_be_written(tmp_path):
    run = unfinished(tmp_path)
    run.lock.path.mkdir(parents=True)
    (result,) = run_sweep([run.config], QUIET)
    assert str(run.lock.path) in result.error


def test_without_a_checkpoint_that_fits_a_run_starts_again(tmp_path):
    run = unfinished(tmp_path)
    for path in run.checkpoints.iterdir():
        reseal(path, x=np.zeros((6, 3)))
    assert run_all([run.config], QUIET) == 0
    assert run.final
    assert "resumed" not in run.manifest()


@pytest.mark.thorough
def test_a_process_of_its_own_says_that_a_checkpoint_does_not_fit(tmp_path):
    run = unfinished(tmp_path)
    reseal(run.checkpoints / "30.0-5.npz", x=np.zeros((6, 3)))
    other = config(results=str(tmp_path), seed=7, jobs=2)
    again = config(results=str(tmp_path), eval_every=4, checkpoint_every=10, jobs=2)
    assert again.run_id == run.config.run_id
    assert run_all([again, other], QUIET) == 0
    assert RunFolder(again).manifest()["resumed"][-1] == 20


@pytest.mark.parametrize("name", ["030.0-5.npz", "٣٠.0-5.npz", "40.0-5.npz", "9999999999.0-5.npz"])
def test_a_checkpoint_of_no_step_is_not_used(tmp_path, name):
    run = unfinished(tmp_path)
    last = run.checkpoints / "30.0-5.npz"
    forged = run.checkpoints / name
    shutil.copy(last, forged)
    reseal(forged, **(checkpoint.arrays(last) or {}))
    assert resume_point(run)[0] == 30
    assert run_all([run.config], QUIET) == 0
    assert run.final


def test_a_stream_of_empty_lines_takes_no_memory(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"\n" * 10**6)
    tracemalloc.start()
    rows, wrong = check_rows(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == []
    assert "line 1" in wrong
    assert peak < 4 * 10**6


def test_a_json_file_that_no_run_has_is_not_read(tmp_path, monkeypatch):
    run = finished(tmp_path)
    monkeypatch.setattr(integrity, "LARGEST", 100)
    assert "1e-07 GB" in examine(run.path).damaged["summary.json"]


def linked_folder(place, outside):
    shutil.rmtree(place)
    place.symlink_to(outside)


FORGED_LOCKS = {
    "empty": lambda place, outside: (place / "kind").touch(),
    "fifo": lambda place, outside: os.mkfifo(place / "kind"),
    "folder": lambda place, outside: (place / "kind").mkdir(),
    "link": lambda place, outside: (place / "kind").symlink_to("/etc/passwd"),
    "linked folder": linked_folder,
}


@pytest.mark.parametrize("forged", FORGED_LOCKS)
def test_status_shows_runs_with_forged_locks_without_waiting(tmp_path, forged):
    run = unfinished(tmp_path / "results")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kind").write_text("leases\n")
    write_json(outside / f"{run.path.name}.lease", {"name": "a", "beat": 1})
    place = lock_of(run.path).parent
    place.mkdir(exist_ok=True)
    FORGED_LOCKS[forged](place, outside)
    begun = time.monotonic()
    assert ("1 interrupted" if forged in ("empty", "linked folder") else "1 running") in status_of(tmp_path / "results")
    assert time.monotonic() - begun < 3


def test_a_manifest_nested_without_end_is_left_as_it_is(tmp_path, monkeypatch):
    """A reused run notes the new sweep in its manifest, which somebody else may have made."""
    run = finished(tmp_path)
    before = (run.path / "manifest.json").read_bytes()
    nested: dict = {}
    for _ in range(10**5):
        nested = {"a": nested}
    monkeypatch.setattr(run, "manifest", lambda: {"sweep": "one", "versions": nested})
    assert run.join("another") is False
    assert (run.path / "manifest.json").read_bytes() == before


def test_a_checkpoint_is_opened_only_after_its_digest(tmp_path, monkeypatch):
    """Its directory may claim to be as large as the file."""
    opened = []
    monkeypatch.setattr(checkpoint, "_is_archive", lambda body: opened.append(body) or True)
    path = tmp_path / "30.0-5.npz"
    with path.open("wb") as file:
        file.truncate(1 << 24)
    assert checkpoint.arrays(path) is None
    assert opened == []
