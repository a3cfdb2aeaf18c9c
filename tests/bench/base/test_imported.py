"""Hashes of files: of their present content, and without reading a large one for every run."""

import os
import time

import pytest

from bench.base import imported


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Return a file that was written a while ago, and a list with an entry for each time that it is opened."""
    monkeypatch.setattr(imported, "_outside", {})
    monkeypatch.setattr(imported, "_unimported", set())
    file, seen = tmp_path / "weights.pt", []
    file.write_bytes(b"1")
    path = type(file)

    def recorded(method):
        return lambda self, *args, **named: (seen.append(self), method(self, *args, **named))[1]

    monkeypatch.setattr(path, "open", recorded(path.open))  # read_bytes calls it too
    later = time.time_ns() + 10_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later)
    return file, seen


def test_a_file_that_is_no_module_is_read_once_until_it_is_edited(opened):
    file, seen = opened
    first = {imported.digest(file) for _ in range(36)}
    assert len(first) == len(seen) == 1
    assert not imported.changed()
    times = file.stat()
    with open(file, "wb") as stream:  # noqa: PTH123 - opening the path would be recorded
        stream.write(b"2")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # as an archive does: the size and this time are the same
    assert imported.changed() == ["weights.pt"]
    assert not imported.changed(modules_only=True)
    assert imported.digest(file) not in first
    assert not imported.changed()
    file.unlink()
    assert imported.changed() == ["weights.pt"]


def test_a_file_that_was_just_written_is_read_again(opened, monkeypatch):
    file, seen = opened
    monkeypatch.setattr(time, "time_ns", lambda: file.stat().st_mtime_ns)
    assert imported.digest(file) == imported.digest(file)
    assert len(seen) == 2


def test_source_is_always_read(opened):
    file, seen = opened
    file = file.rename(file.with_suffix(".py"))
    assert imported.digest(file) == imported.digest(file)
    assert len(seen) == 2
