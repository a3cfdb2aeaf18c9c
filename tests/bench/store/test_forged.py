"""Files of a run whose digests were made right, and that are not what hearsay writes."""

import io
import os
import shutil
import time
import tracemalloc

import numpy as np
import pytest
from rich.console import Console

from analysis import load
from bench import status
from bench.store import integrity
from bench.store.files import check_rows, lock_of, read_json, sha256, write_json
from bench.store.integrity import SUMS, examine
from bench.store.run_folder import RunFolder
from bench.sweep.resume import resume_point
from bench.sweep.sweep import run_all
from bench.training import checkpoint
from tests.faults.harm_store import finished, unfinished
from tests.helpers.configs import config
from tests.helpers.readers import status_of

QUIET = Console(quiet=True)


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


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_a_checkpoint_of_another_run_is_not_used(tmp_path, forged):
    run = unfinished(tmp_path)
    reseal(run.checkpoints / "30.0-5.npz", **forged)
    sink = io.StringIO()
    assert run_all([run.config], Console(file=sink, width=300)) == 0
    assert run.final
    assert run.manifest()["resumed"][-1] == 20
    assert "step 30" in sink.getvalue()


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
    assert ("1 interrupted" if forged == "linked folder" else "1 running") in status_of(tmp_path / "results")
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
