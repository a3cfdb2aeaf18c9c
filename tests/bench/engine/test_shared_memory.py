"""What a dead world left in shared memory is removed, and nothing else is."""

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
    """A process that has the files in use."""
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
    """One with a name of MPICH's, and one of somebody's who keeps data there."""
    name = uuid.uuid4().hex
    out = [FOLDER / f"mpich_shm_{name}_0", FOLDER / f"numbers_{name}.npy"]
    for path in out:
        path.write_bytes(bytes(4096))
    yield out
    for path in out:
        path.unlink(missing_ok=True)


def test_only_what_mpi_named_is_seen(files):
    segment, data = files
    with user_of(segment, data) as process:
        assert {found.path for found in mapped(process.pid)} == {segment}
        segment.unlink()
        assert mapped(process.pid) == set()  # it has no name any more


def test_nothing_in_use_is_swept(files):
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


def test_another_file_of_the_same_name_stays(files):
    segment, _ = files
    with user_of(segment) as process:
        found = mapped(process.pid)
        assert found
        later = segment.with_suffix(".later")
        later.write_bytes(bytes(4096))
        later.replace(segment)
        remove_names(found)
        assert segment.exists()


@pytest.mark.parametrize(("size", "says"), [("1m", "shared memory is scarce"), ("9m", "")])
def test_too_little_of_it_is_said_before_ranks_start(size, says):
    """In a /dev/shm of our own, where the system lets us have one."""
    words = "from bench.engine.shared_memory import refuse_full, hint; refuse_full(2); print(hint(2))"
    check = f"{sys.executable} -c '{words}'"
    mount = ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size={size} none {FOLDER} && echo mounted && {check}"]
    if not shutil.which("unshare"):
        pytest.skip("no unshare here")
    done = subprocess.run(mount, cwd=ROOT, capture_output=True, text=True, timeout=60)
    if "mounted" not in done.stdout:
        pytest.skip(f"no mount of our own: {done.stderr}")
    if says:
        assert "2 ranks cannot be started: shared memory is scarce: /dev/shm has 1.0 MB left" in done.stderr
        assert "--shm-size" in done.stderr
    else:
        assert "It may be that shared memory is scarce: /dev/shm has 9.4 MB left" in done.stdout
