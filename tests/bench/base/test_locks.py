"""One process at a time, also where the file system has no locks, or pretends to have some."""

import errno
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.base import leases
from bench.base.leases import Lease
from bench.base.locks import LEASES, Lock, mounted_alone, untrusted
from tests.helpers import flock
from tests.helpers.cli import ROOT
from tests.helpers.run_folders import folders, state


@pytest.fixture
def fast(monkeypatch):
    """A heart that beats fast, and is soon given up."""
    monkeypatch.setattr(leases, "BEAT_S", 0.02)
    monkeypatch.setattr(leases, "DEAD_S", 0.3)


def test_two_locks_on_one_file(tmp_path):
    one, two = Lock(tmp_path / "a"), Lock(tmp_path / "a")
    assert untrusted(tmp_path) is None
    assert not one.held()
    assert one.take()
    assert two.held()
    assert not two.take()
    assert "on this machine" in two.holder()
    one.release()
    assert two.take()
    two.release()
    assert not (tmp_path / LEASES).exists()


def test_leases_where_another_process_found_that_they_are_needed(tmp_path):
    (tmp_path / LEASES).write_text("no locks to be had")
    assert untrusted(tmp_path) == "no locks to be had"
    one, two = Lock(tmp_path / "a"), Lock(tmp_path / "a")
    assert one.take()
    assert two.held()
    assert not two.take()
    assert f"process {os.getpid()} on this machine" in two.holder()
    one.release()
    assert not two.held()
    assert two.take()
    two.release()
    assert [path.name for path in tmp_path.iterdir()] == [LEASES]


def test_a_lease_lives_as_long_as_its_heart_beats(tmp_path, fast):
    lease = Lease.take(tmp_path / "a")
    for _ in range(20):
        assert Lease.take(tmp_path / "a") is None
        time.sleep(0.05)
    assert not lease.lost
    lease.release()


def test_what_the_dead_held_is_inherited_once(tmp_path, fast):
    leases.write_json(tmp_path / "a", {"pid": 1, "host": "far", "since": 0.0, "name": "dead", "beat": 7})
    assert Lease.take(tmp_path / "a") is None  # it may be alive
    time.sleep(0.4)
    heirs = [Lease.take(tmp_path / "a") for _ in range(3)]
    assert [heir is not None for heir in heirs] == [True, False, False]
    heirs[0].release()


def test_who_was_stopped_for_too_long_notices(tmp_path, fast, monkeypatch):
    monkeypatch.setattr(Lease, "beat", lambda self: None)  # as of a process that is stopped
    lock = Lock(tmp_path / "a")
    (tmp_path / LEASES).write_text("no locks")
    assert lock.take()
    assert Lease.take(tmp_path / "a.lease") is None
    time.sleep(0.4)
    heir = Lease.take(tmp_path / "a.lease")
    assert heir is not None
    monkeypatch.undo()
    assert not lock.lost
    lock._lease.beat()
    assert lock.lost
    lock.release()
    assert leases.read_json(tmp_path / "a.lease")["name"] == heir._name  # it is the other's
    heir.release()


def test_what_a_mount_says_of_its_locks():
    lines = """22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 22 0:40 / /home rw - nfs4 server:/home rw,vers=4.2,local_lock=none
31 22 0:41 / /my\\040data rw - nfs server:/d rw,vers=3,nolock,local_lock=all
32 22 0:42 / /scratch rw - lustre mds:/s rw,localflock"""
    assert mounted_alone(Path("/home/me/results"), lines) is None
    assert mounted_alone(Path("/tmp/results"), lines) is None
    assert mounted_alone(Path("/my data/results"), lines) == "nfs is mounted with local_lock=all"
    assert mounted_alone(Path("/scratch/results"), lines) == "lustre is mounted with localflock"


@pytest.mark.skipif(platform.machine() not in flock.FLOCK, reason="the number of flock is not known here")
@pytest.mark.thorough
@pytest.mark.timeout(150)
@pytest.mark.parametrize(
    ("answer", "why"), [(errno.ENOLCK, "the file system refuses them"), (0, "were given the same")]
)
def test_two_sweeps_without_locks_run_everything_once(answer, why, tmp_path):
    """The kernel itself refuses flock, or lies."""
    words = ["-m", "dataset=digits", "nodes=4", "batch_size=8", "steps=400", "engine=stacked", "tracker=none"]
    words += ["algo=dsgd,dsgt", "topology=ring,complete", f"results={tmp_path / 'results'}"]
    command = [sys.executable, str(ROOT / "tests/helpers/flock.py"), str(answer), str(ROOT / "bench/run.py"), *words]
    sweeps = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    said = [sweep.communicate(timeout=120)[0] for sweep in sweeps]
    assert [sweep.returncode for sweep in sweeps] == [0, 0], said
    assert all("Leases take their place" in text for text in said)
    assert any(why in text for text in said), said
    for folder in folders(tmp_path / "results"):
        assert state(folder)["state"] == "done"
        assert (folder / "log.txt").read_text().count("starts") == 1
    assert not list((tmp_path / "results" / ".locks").glob("*.lease"))
