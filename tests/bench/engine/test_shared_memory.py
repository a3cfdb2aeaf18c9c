"""Shared-memory segments of ended ranks are removed, and no other file."""

import ast
import shutil
import subprocess
import sys
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.engine.shared_memory import FOLDER, mapped, remove_names, sweep
from tests.helpers.cli import ROOT

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no /dev/shm here")
HOLD = """
import mmap, sys
files = [open(path, "r+b") for path in sys.argv[1:]]
maps = [mmap.mmap(file.fileno(), 0) for file in files]
print(flush=True)
input()
"""


@contextmanager
def user_of(*paths: Path):
    """A process that has mapped the files."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, *map(str, paths)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout
    process.stdout.readline()
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def files():
    """One file with a name of MPICH, and one of another program."""
    name = uuid.uuid4().hex
    out = [FOLDER / f"mpich_shm_{name}_0", FOLDER / f"numbers_{name}.npy"]
    for path in out:
        path.write_bytes(bytes(4096))
    yield out
    for path in out:
        path.unlink(missing_ok=True)


def test_finds_only_segments_of_mpi(files):
    segment, data = files
    with user_of(segment, data) as process:
        assert {found.path for found in mapped(process.pid)} == {segment}
        segment.unlink()
        assert mapped(process.pid) == set()  # unlinked


def test_keeps_segments_in_use(files):
    segment, data = files
    with user_of(segment) as process, user_of(segment, data):
        found = mapped(process.pid)
        assert found
        process.kill()
        process.wait()
        sweep(found)
        assert segment.exists()
    sweep(found)
    assert not segment.exists()
    assert data.exists()


def test_keeps_a_later_file_of_the_same_name(files):
    segment, _ = files
    with user_of(segment) as process:
        found = mapped(process.pid)
        assert found
        later = segment.with_suffix(".later")
        later.write_bytes(bytes(4096))
        later.replace(segment)
        remove_names(found)
        assert segment.exists()


def test_reports_too_little_shared_memory():
    """In a mount namespace with a small /dev/shm, if the system allows one."""
    words = (
        "from bench.engine.shared_memory import *; print([shortage(2, LEAST), shortage(8, LEAST), shortage(2, USUAL)])"
    )
    check = f"{sys.executable} -c '{words}'"
    mount = ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=8m none {FOLDER} && echo mounted && {check}"]
    if not shutil.which("unshare"):
        pytest.skip("no unshare here")
    done = subprocess.run(mount, cwd=ROOT, capture_output=True, text=True, timeout=60)
    if "mounted" not in done.stdout:
        pytest.skip(f"no mount: {done.stderr}")
    enough, *messages = ast.literal_eval(done.stdout.splitlines()[1])
    assert enough == ""
    for message, needed in zip(messages, ("8.8 MB", "11.0 MB"), strict=True):
        assert "/dev/shm has 8.4 MB" in message
        assert needed in message
        assert "--shm-size" in message
