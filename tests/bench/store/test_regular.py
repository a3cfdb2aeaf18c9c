"""Inside a results folder no link is followed, and nothing but a regular file is opened."""

import os

import pytest

from bench.store import regular
from bench.store.files import check_json, read_json, write_json
from bench.store.leases import Lease
from bench.store.locks import Lock


@pytest.fixture
def precious(tmp_path):
    path = tmp_path / "elsewhere" / "precious"
    path.parent.mkdir()
    path.write_text("{}")
    return path


def test_reads_no_link(tmp_path, precious):
    (tmp_path / "link").symlink_to(precious)
    for read in (regular.content_of, lambda path: regular.end_of(path, 10)):
        with pytest.raises(OSError, match="link"):
            read(tmp_path / "link")
    assert "it is a link" in str(check_json(tmp_path / "link")[1])


def test_appends_to_no_link(tmp_path, precious):
    (tmp_path / "link").symlink_to(precious)
    with pytest.raises(OSError, match="link"):
        regular.append(tmp_path / "link", "more")
    assert precious.read_text() == "{}"


@pytest.mark.parametrize("dangling", [False, True])
def test_replaces_a_link_and_not_what_it_points_to(tmp_path, precious, dangling):
    if dangling:
        precious.unlink()
    (tmp_path / "link").symlink_to(precious)
    write_json(tmp_path / "link", {"a": 1})
    assert read_json(tmp_path / "link") == {"a": 1}
    assert not (tmp_path / "link").is_symlink()
    assert precious.exists() is not dangling


def test_writes_through_no_draft_that_waits_for_it(tmp_path, precious, monkeypatch):
    monkeypatch.setattr("bench.store.regular.threading.get_ident", lambda: 7)
    (tmp_path / f".file.{os.getpid()}.7").symlink_to(precious)
    regular.write_bytes(tmp_path / "file", b"new")
    assert precious.read_text() == "{}"
    assert (tmp_path / "file").read_bytes() == b"new"


def test_removes_a_link_and_not_what_it_points_to(tmp_path, precious):
    (tmp_path / "link").symlink_to(precious.parent)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inner").symlink_to(precious.parent)
    for name in ("link", "folder", "nothing"):
        regular.remove(tmp_path / name)
        assert not os.path.lexists(tmp_path / name)
    assert precious.exists()


def test_makes_no_folder_of_a_link(tmp_path, precious):
    (tmp_path / "link").symlink_to(precious.parent)
    with pytest.raises(OSError, match="link"):
        regular.make_folder(tmp_path / "link")


@pytest.mark.timeout(10)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_APPEND])
def test_waits_for_no_fifo(tmp_path, flags):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="regular"):
        regular.opened(tmp_path / "fifo", flags)


def test_reads_no_device_and_no_folder():
    for path in ("/dev/zero", "/dev"):
        with pytest.raises(OSError, match="regular"):
            regular.content_of(path)


def test_reads_no_more_than_a_run_can_have(tmp_path):
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 42)
    with pytest.raises(OSError, match=r"4.4e\+03 GB.*0.268 GB"):
        regular.content_of(tmp_path / "large")


def test_reads_a_file_that_grows(tmp_path, monkeypatch):
    path = tmp_path / "stream"
    path.write_bytes(b"ab")
    state = os.fstat

    def grown(descriptor):
        before = state(descriptor)
        path.write_bytes(b"abcdef")
        return before

    monkeypatch.setattr(os, "fstat", grown)
    assert regular.content_of(path) == b"abcdef"


def test_a_lock_that_is_a_link_is_not_taken(tmp_path, precious):
    (tmp_path / ".locks").mkdir()
    (tmp_path / ".locks" / "run").symlink_to(precious)
    with pytest.raises(OSError, match="link"):
        Lock(tmp_path / ".locks" / "run").take()
    assert not Lock(tmp_path / ".locks" / "run").held()
    (tmp_path / ".locks" / "other.lease").symlink_to(precious.with_name("nothing"))
    assert Lease.take(tmp_path / ".locks" / "other.lease") is None
    assert [path.name for path in precious.parent.iterdir()] == ["precious"]
    assert precious.read_text() == "{}"


def test_names_of_runs_can_be_printed(tmp_path):
    for name in (b"run", b"\x1b[2J", b"\xff", b"a\nb"):
        (tmp_path / "runs" / os.fsdecode(name)).mkdir(parents=True)
    (tmp_path / "runs" / "link").symlink_to(tmp_path)
    (tmp_path / "runs" / "file").write_text("")
    assert regular.run_names(tmp_path) == ["link", "run"]


def test_an_error_names_the_file_and_not_its_draft(tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(IsADirectoryError) as refused:
        regular.write_bytes(tmp_path / "report.html", b"text")
    assert (refused.value.filename, refused.value.filename2) == (str(tmp_path / "report.html"), None)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
