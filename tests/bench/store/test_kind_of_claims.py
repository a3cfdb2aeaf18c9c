"""The file that says how runs are claimed, and the leases: edited, replaced or damaged while runs go on."""

import errno
import os
import resource
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.base.errors import UserError
from bench.store import leases, lock_kind, locks
from bench.store.leases import Lease
from bench.store.locks import FLOCK, KIND, LEASES, Lock, untrusted
from bench.store.mounts import mounted_alone


@pytest.mark.parametrize(("first", "then"), [(FLOCK, LEASES), (LEASES, FLOCK)])
def test_a_claim_ends_when_the_folder_has_the_other_kind(first, then, tmp_path):
    """Else two processes would make one run, each with a claim of its own kind."""
    (tmp_path / KIND).write_text(f"{first}\n")
    one, two = Lock(tmp_path / "a"), Lock(tmp_path / "a")
    assert one.take()
    for harmless in ("", "nonsense\n", f"{first}\n"):
        (tmp_path / KIND).write_text(harmless)
        assert not one.lost
    (tmp_path / KIND).unlink()
    assert not one.lost
    (tmp_path / KIND).write_text(f"{then}\n")
    assert two.take()
    assert one.lost
    assert not two.lost
    one.release()
    two.release()


def test_a_lock_whose_file_was_removed_is_lost(tmp_path):
    one, two = Lock(tmp_path / "a"), Lock(tmp_path / "a")
    assert one.take()
    (tmp_path / "a").unlink()
    assert one.lost
    assert two.take()
    assert one.lost
    assert not two.lost
    one.release()
    assert not one.lost
    two.release()


@pytest.mark.parametrize("content", ["null", "[1]", "5", '"name"', "{", "\xff", '{"name": 5}'])
def test_a_damaged_lease_does_not_end_the_others(content, tmp_path, monkeypatch):
    monkeypatch.setattr(leases, "BEAT_S", 0.02)
    monkeypatch.setattr(leases, "_beats", set())
    one, two = (Lease.take(tmp_path / name) for name in "ab")
    (tmp_path / "a").write_bytes(content.encode("latin-1"))
    time.sleep(0.1)
    before = (tmp_path / "b").read_bytes()
    time.sleep(0.1)
    assert (tmp_path / "b").read_bytes() != before
    one.release()
    two.release()


def test_a_lease_with_a_name_of_any_length_can_be_inherited(tmp_path, monkeypatch):
    monkeypatch.setattr(leases, "DEAD_S", 0.0)
    (tmp_path / "a").write_text('{"name": "%s", "beat": 1}' % ("x" * 400))
    lease = Lease.take(tmp_path / "a")
    assert lease is not None
    lease.release()


@pytest.mark.parametrize(
    "place", ["/home/jürgen/far", "/mnt/数据", "/mnt/a\u00a0b", "/mnt/a\u2028b", "/mnt/a b", "/a\\b"]
)
def test_a_mount_is_known_by_any_name(place):
    point = place.replace("\\", "\\134").replace(" ", "\\040")
    lines = f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n33 22 0:43 / {point} rw - fuse.sshfs me@h:/x rw,user_id=0\n"
    assert mounted_alone(Path(place) / "results", lines).startswith("fuse.sshfs ")


def test_a_mount_of_something_without_a_name_hinders_nothing(tmp_path):
    lines = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n33 22 0:43 / /far rw - tmpfs  rw,size=1k\n"
    assert mounted_alone(Path("/far"), lines) is None
    assert mounted_alone(Path("/home"), lines) is None
    assert untrusted(tmp_path) is None


def test_containers_with_one_host_name_and_process_id_test_locks_at_once(tmp_path, monkeypatch):
    run, reasons = locks.subprocess.run, []

    def during(*args, **options):
        monkeypatch.setattr(locks.subprocess, "run", run)
        reasons.append(locks._trial(tmp_path))
        return run(*args, **options)

    monkeypatch.setattr(locks.subprocess, "run", during)
    reasons.append(locks._trial(tmp_path))
    assert reasons == [None, None]
    assert not list(tmp_path.iterdir())


def test_the_error_of_a_disk_that_takes_nothing_names_the_file(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(OSError, match="kind") as caught:
            untrusted(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(tmp_path / "kind")
    assert not list(tmp_path.iterdir())


def test_the_kind_has_its_content_and_is_synced_when_it_appears(tmp_path, monkeypatch):
    link, fsync, seen = os.link, os.fsync, []

    def watched(descriptor):
        seen.append("sync")
        fsync(descriptor)

    def linked(draft, path):
        seen.append(Path(draft).read_text())
        link(draft, path)

    monkeypatch.setattr(os, "fsync", watched)
    monkeypatch.setattr(os, "link", linked)
    assert untrusted(tmp_path) is None
    assert seen[0] == "sync"
    assert seen[-1] == "flock\n"
    assert [path.name for path in tmp_path.iterdir()] == [KIND]


@pytest.mark.parametrize("reason", [None, "no locks here"])
def test_an_empty_kind_is_decided_again_by_one_process(reason, tmp_path, monkeypatch):
    """Half of the hosts have locks, and half have none. A killed process holds the permission to decide."""
    monkeypatch.setattr(leases, "DEAD_S", 0.3)
    monkeypatch.setattr(lock_kind, "WRITTEN_S", 0.1)
    monkeypatch.setattr(lock_kind.said, "__defaults__", (0.1,))
    host, start = threading.local(), threading.Barrier(4)
    monkeypatch.setattr(locks, "_found_wanting", lambda folder: host.reason)
    (tmp_path / KIND).touch()
    (tmp_path / f".{KIND}").touch()
    assert not Lock(tmp_path / "a").held()

    def decided(mine):
        host.reason = mine
        start.wait()
        try:
            return LEASES if untrusted(tmp_path) else FLOCK
        except UserError:
            return "refused"

    with ThreadPoolExecutor(4) as pool:
        answers = Counter(pool.map(decided, [reason, None] * 2))
    assert answers in ({LEASES: 4}, {FLOCK: 4}, {FLOCK: 2, "refused": 2})
    assert (tmp_path / KIND).read_text().split()[0] in (FLOCK, LEASES)


def test_the_kind_is_decided_without_hard_links(tmp_path, monkeypatch):
    def none(*paths):
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", none)
    assert untrusted(tmp_path) is None
    assert untrusted(tmp_path) is None
    assert [path.name for path in tmp_path.iterdir()] == [KIND]
