"""One process at a time, also where the file system has no locks, or pretends to have some."""

import errno
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.base import preemption
from bench.base.errors import UserError
from bench.store import leases, locks
from bench.store.leases import SIZE, Lease
from bench.store.locks import FLOCK, KIND, LEASES, TRIES, Lock, untrusted
from bench.store.mounts import hidden_changes, mounted_alone
from tests.helpers import flock
from tests.helpers.cli import ROOT
from tests.helpers.mentions import mentions
from tests.helpers.run_folders import folders, state


@pytest.fixture
def fast(monkeypatch):
    """A heart that beats fast, and is soon given up."""
    monkeypatch.setattr(leases, "BEAT_S", 0.02)
    monkeypatch.setattr(leases, "_beats", set())
    monkeypatch.setattr(leases, "DEAD_S", 0.3)


def test_two_locks_on_one_file(tmp_path, new_lock):
    one, two = new_lock(tmp_path / "a"), new_lock(tmp_path / "a")
    assert untrusted(tmp_path) is None
    assert not one.held()
    assert one.take()
    assert two.held()
    assert not two.take()
    assert "on this machine" in two.holder()
    one.release()
    assert two.take()
    assert two.take()  # again
    assert (tmp_path / KIND).read_text() == "flock\n"


def test_a_host_without_locks_is_refused_where_others_use_them(tmp_path, monkeypatch):
    assert untrusted(tmp_path) is None
    monkeypatch.setattr(locks, "_found_wanting", lambda folder: "fuse.sshfs has none")
    for attempt in (untrusted, lambda folder: Lock(folder / "a").take()):
        with pytest.raises(UserError, match=r"fuse.sshfs .* echo leases > '.*/kind'"):
            attempt(tmp_path)
    (tmp_path / KIND).write_text("leases\n")  # as it says
    assert untrusted(tmp_path) == f"{tmp_path / KIND} says leases"
    monkeypatch.undo()
    assert untrusted(tmp_path) == f"{tmp_path / KIND} says leases"
    (tmp_path / KIND).write_text("lease\n")
    with pytest.raises(UserError, match=r"flock .*leases.*'lease'"):
        untrusted(tmp_path)


def test_the_first_of_many_decides_for_all(tmp_path, monkeypatch):
    """Half of the hosts have locks, and half have none: one kind, or a refusal."""
    host, start = threading.local(), threading.Barrier(8)
    monkeypatch.setattr(locks, "_found_wanting", lambda folder: host.reason)

    def decide(reason):
        host.reason = reason
        start.wait()
        try:
            return LEASES if untrusted(tmp_path) else FLOCK
        except UserError:
            return "refused"

    with ThreadPoolExecutor(8) as pool:
        answers = Counter(pool.map(decide, ["nothing here", None] * 4))
    assert answers in ({LEASES: 8}, {FLOCK: 4, "refused": 4})


def test_where_locks_cannot_be_asked_what_runs_is_believed(tmp_path, monkeypatch):
    assert untrusted(tmp_path) is None
    assert not Lock(tmp_path / "b").held()
    monkeypatch.setattr(locks, "_mounted", lambda folder: "fuse.sshfs has none")
    assert Lock(tmp_path / "b").held()


def test_a_lock_that_may_not_be_read_may_be_held(tmp_path, monkeypatch):
    assert untrusted(tmp_path) is None

    def refuse(path, *flags):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(locks, "opened", refuse)
    assert Lock(tmp_path / "b").held()


def test_a_lock_whose_file_cannot_be_closed_is_released(tmp_path):
    one, two = Lock(tmp_path / "a"), Lock(tmp_path / "a")
    assert one.take()
    os.close(one._stream.fileno())  # as on NFS, where closing a file may fail
    one.release()
    assert two.take()
    two.release()


def test_leases_where_the_folder_says_so(tmp_path):
    (tmp_path / KIND).write_text("leases no locks here\n")
    assert untrusted(tmp_path) == "no locks here"
    one, two = Lock(tmp_path / "a"), Lock(tmp_path / "a")
    assert one.take()
    assert two.held()
    assert not two.take()
    assert one.take()  # again
    assert f"process {os.getpid()} on this machine" in two.holder()
    one.release()
    assert not two.held()
    assert two.take()
    two.release()
    assert [path.name for path in tmp_path.iterdir()] == [KIND]


def test_a_lease_lives_as_long_as_its_heart_beats(tmp_path, fast):
    lease = Lease.take(tmp_path / "a")
    for _ in range(20):
        assert Lease.take(tmp_path / "a") is None
        time.sleep(0.05)
    assert not lease.lost
    lease.release()


def test_the_heart_beats_on_after_any_error(tmp_path, fast, monkeypatch):
    failed, beat = threading.Event(), Lease.beat

    def fail(lease):
        if failed.is_set():
            beat(lease)
        else:
            failed.set()
            raise MemoryError

    monkeypatch.setattr(Lease, "beat", fail)
    lease = Lease.take(tmp_path / "a")
    before = leases._beat_at(tmp_path / "a")
    assert failed.wait(20)
    while leases._beat_at(tmp_path / "a") == before:
        time.sleep(0.01)
    lease.release()


def test_a_heart_that_did_not_start_is_started_later(tmp_path, fast, monkeypatch):
    def fail(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError):
            Lease.take(tmp_path / "a")
    lease = Lease.take(tmp_path / "b")
    before = leases._beat_at(tmp_path / "b")
    while leases._beat_at(tmp_path / "b") == before:
        time.sleep(0.01)
    lease.release()


def test_what_the_dead_held_is_inherited_once(tmp_path, fast, monkeypatch):
    """Also where it died before it had written its name, or while it was about to inherit itself."""
    monkeypatch.setattr(leases, "DEAD_S", 0.1)
    dead = {"pid": 1, "host": "far", "since": 0.0, "name": "dead", "beat": 7}
    for content in (json.dumps(dead), "", json.dumps(dead)):
        (tmp_path / "a").write_text(content)
        assert Lease.take(tmp_path / "a") is None  # it may be alive
        time.sleep(0.12)
        with ThreadPoolExecutor(8) as pool:
            heirs = [heir for heir in pool.map(Lease.take, [tmp_path / "a"] * 8) if heir]
        assert len(heirs) == 1
        assert (tmp_path / "a").stat().st_size == SIZE
        heirs[0].release()
        assert list(tmp_path.iterdir()) == []
    (tmp_path / "a").write_text(json.dumps(dead))
    (tmp_path / ".dead").write_text("")  # the permission of an heir that has died
    taken = []
    for _ in range(3):
        taken.append(Lease.take(tmp_path / "a"))
        time.sleep(0.12)
    assert [lease is not None for lease in taken] == [False, False, True]
    taken[2].release()
    assert list(tmp_path.iterdir()) == []


def test_who_wakes_does_not_write_into_what_an_heir_has(tmp_path, fast, monkeypatch):
    """Stopped between the look at its lease and the change of it: the worst moment."""
    lease = Lease.take(tmp_path / "a")
    leases._held.clear()
    assert Lease.take(tmp_path / "a") is None
    time.sleep(0.4)
    heirs, loads = [], json.loads

    def stopped(content):
        if not heirs:
            heirs.append(None)  # no second time
            heirs[0] = Lease.take(tmp_path / "a")
        return loads(content)

    monkeypatch.setattr("json.loads", stopped)
    lease.beat()
    monkeypatch.undo()
    assert heirs[0] is not None
    assert not heirs[0].lost
    assert lease.lost
    lease.release()
    assert (tmp_path / "a").exists()
    heirs[0].release()


def test_who_was_stopped_for_too_long_notices(tmp_path, fast, monkeypatch):
    monkeypatch.setattr(Lease, "beat", lambda self: None)  # as of a process that is stopped
    lock = Lock(tmp_path / "a")
    (tmp_path / KIND).write_text("leases no locks\n")
    assert lock.take()
    assert Lease.take(tmp_path / "a.lease") is None
    time.sleep(0.4)
    heir = Lease.take(tmp_path / "a.lease")
    assert heir is not None
    monkeypatch.undo()
    assert lock.lost  # at once: what it writes next would be in the other's folder
    lock._lease.beat()
    lock.release()
    assert json.loads((tmp_path / "a.lease").read_text())["name"] == heir._name  # it is the other's
    heir.release()


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ("-o auto_cache,cache_timeout=115200", "cache_timeout=115200"),
        ("-oentry_timeout=3600", "entry_timeout=3600"),
        ("-o reconnect -o dcache_dir_timeout=21.5", "dcache_dir_timeout=21.5"),
        ("-o kernel_cache", "kernel_cache"),
        ("-o attr_timeout=20,auto_cache,ServerAliveInterval=60", None),
        ("-f", None),
    ],
)
def test_options_of_sshfs_that_hide_changes_of_other_hosts(options, wrong):
    command = ["/usr/bin/sshfs", "me@host:/home", "/far", *options.split()]
    found = hidden_changes(Path("/far"), command)
    assert found is None if wrong is None else wrong in found
    assert hidden_changes(Path("/near"), command) is None
    assert hidden_changes(Path("/far"), ["ls", *command[1:]]) is None
    assert hidden_changes(Path("/far"), [""]) is None


def test_what_a_mount_says_of_its_locks():
    lines = """22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 22 0:40 / /home rw - nfs4 server:/home rw,vers=4.2,local_lock=none
31 22 0:41 / /my\\040data rw - nfs server:/d rw,vers=3,nolock,local_lock=all
32 22 0:42 / /scratch rw - lustre mds:/s rw,localflock
33 22 0:43 / /far rw,nosuid - fuse.sshfs me@host:/home/me rw,user_id=0
34 22 0:44 / /local rw - fuse.gocryptfs /home/me/secret rw,user_id=0
35 22 0:45 / /share rw - cifs //server/share rw,vers=3.1.1,nobrl"""
    assert mounted_alone(Path("/home/me/results"), lines) is None
    assert mounted_alone(Path("/tmp/results"), lines) is None
    assert mentions(mounted_alone(Path("/my data/results"), lines), "nfs ", " local_lock=all")
    assert mentions(mounted_alone(Path("/scratch/results"), lines), "lustre ", " localflock")
    assert mounted_alone(Path("/far/results"), lines).startswith("fuse.sshfs ")
    assert mounted_alone(Path("/local/results"), lines) is None
    assert mentions(mounted_alone(Path("/share/results"), lines), "cifs ", " nobrl")


@pytest.mark.skipif(platform.machine() not in flock.FLOCK, reason="the number of flock is not known here")
@pytest.mark.thorough
@pytest.mark.timeout(150)
@pytest.mark.parametrize(("answer", "why"), [(errno.ENOLCK, "No locks available"), (0, "same lock")])
def test_two_sweeps_without_locks_run_everything_once(answer, why, tmp_path):
    """The kernel itself refuses flock, or lies."""
    words = ["-m", "dataset=digits", "nodes=4", "batch_size=8", "steps=4000", "engine=stacked", "tracker=none"]
    words += ["algo=dsgd,dsgt", "topology=ring,complete", f"results={tmp_path / 'results'}"]
    command = [sys.executable, str(ROOT / "tests/helpers/flock.py"), str(answer), str(ROOT / "bench/run.py"), *words]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    sweeps = [subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) for _ in range(2)]
    for sweep in sweeps:
        assert sweep.stdout.readline() == "ready\n"
    for sweep in sweeps:  # together: a sweep that starts when the other has ended needs no leases
        sweep.stdin.write("start\n")
        sweep.stdin.flush()
    said = [sweep.communicate(timeout=120)[0] for sweep in sweeps]
    assert [sweep.returncode for sweep in sweeps] == [0, 0], said
    assert all("Leases" in text for text in said), said
    assert any(why in text for text in said), said
    for folder in folders(tmp_path / "results"):
        assert state(folder)["state"] == "done"
        assert (folder / "log.txt").read_text().count("starts") == 1
    assert not list((tmp_path / "results" / ".locks").glob("*.lease"))


@pytest.mark.parametrize(
    "said",
    [{"pid": 1}, {"pid": 1, "host": "h", "since": "abc"}, {"pid": 1, "host": "h", "since": 1e300}, {"name": "a/../b"}],
)
def test_a_lease_that_says_anything_is_another_process(tmp_path, monkeypatch, said):
    lock = Lock(tmp_path / ".locks" / "run")
    lock.path.parent.mkdir()
    (lock.path.parent / KIND).write_text(f"{LEASES} on purpose")
    lock.path.with_name("run.lease").write_text(json.dumps(said))
    assert not lock.take()
    assert lock.holder() == "another process"
    monkeypatch.setattr(leases, "DEAD_S", 0.0)
    assert lock.take()
    lock.release()


def test_a_lock_that_cannot_be_reached_is_lost(tmp_path, new_lock):
    lock = new_lock(tmp_path / ".locks" / "a")
    assert lock.take()
    assert not lock.lost
    (tmp_path / ".locks").rename(tmp_path / "moved")
    (tmp_path / ".locks").write_text("")
    assert lock.lost


class Killed:
    """A second process that a signal ends before it has tried the lock."""

    returncode, stderr = -15, b""


def test_a_killed_trial_decides_nothing(tmp_path, monkeypatch):
    """The file would say for all hosts and for ever that locks do not work."""
    monkeypatch.setattr(subprocess, "run", lambda *words, **more: Killed())
    with pytest.raises(UserError, match="-15"):
        untrusted(tmp_path)
    assert not (tmp_path / KIND).exists()
    monkeypatch.setattr(preemption, "requested", lambda: signal.SIGTERM)
    with pytest.raises(preemption.Preempted):
        untrusted(tmp_path)
    assert not list(tmp_path.glob(".trial*"))
    monkeypatch.undo()
    assert untrusted(tmp_path) is None


def test_a_paused_trial_is_repeated(tmp_path, monkeypatch):
    """A process that wakes finds that all its time is over."""
    run, answers = subprocess.run, [False, *[True] * (TRIES - 1), *[True] * TRIES]

    def paused(*words, **more):
        if answers.pop():
            raise subprocess.TimeoutExpired(*words, more["timeout"])
        return run(*words, **more)

    monkeypatch.setattr(subprocess, "run", paused)
    with pytest.raises(UserError, match="60 s"):
        untrusted(tmp_path)
    assert not list(tmp_path.iterdir())
    assert untrusted(tmp_path) is None
    assert not answers


@pytest.mark.parametrize("end", ["lock.release()", "os._exit(0)"])
def test_a_forked_child_does_not_keep_a_lock(end, tmp_path, new_lock):
    """The lock ends when its process releases it or ends, though a child that has its files still runs."""
    words = """
import os, sys, time
from pathlib import Path
from bench.store.locks import Lock
lock = Lock(Path(sys.argv[1]))
assert lock.take()
if not (child := os.fork()):
    os.write(1, f"{lock.taken}\\n".encode())
    time.sleep(60)
    os._exit(0)
os.write(1, f"{child}\\n".encode())
sys.stdin.readline()
END
print("ended", flush=True)
sys.stdin.readline()
"""
    command = [sys.executable, "-c", words.replace("END", end), str(tmp_path / "a")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as process:
        first = {process.stdout.readline().strip() for _ in range(2)}
        (child,) = (int(word) for word in first if word.isdigit())
        try:
            assert first == {str(child), "False"}
            assert not new_lock(tmp_path / "a").take()
            process.stdin.write("go on\n")
            process.stdin.flush()
            if "release" in end:
                assert process.stdout.readline() == "ended\n"
            else:
                process.wait(timeout=20)
            assert new_lock(tmp_path / "a").take()
        finally:
            os.kill(child, signal.SIGKILL)
            process.kill()
