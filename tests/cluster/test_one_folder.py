"""Several machines share a results folder: by sshfs, which has no locks between machines, and with different clocks."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from bench.store.files import write_json
from bench.sweep.cluster import order as orders
from bench.sweep.cluster.tickets import new_folder
from tests.cluster.hosts import Hosts
from tests.helpers.cli import ROOT
from tests.helpers.configs import config
from tests.helpers.run_folders import folders, state

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(200), pytest.mark.xdist_group("hosts")]
SWEEP = ("-m", "dataset=digits", "nodes=4", "batch_size=8", "steps=400", "engine=stacked", "tracker=none",
         "algo=dsgd,dsgt", "topology=ring,complete", "seed=0,1")  # fmt: skip
QUIET = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
READ = """
import sys
from bench.store.files import check_json
for _ in sys.stdin:
    print(check_json(sys.argv[1]), flush=True)
"""
CLOCK = """
import os, time
ahead, now, of_now = float(os.environ["AHEAD_S"]), time.time, time.strftime
time.time = lambda: now() + ahead
time.time_ns = lambda: int(time.time() * 1e9)
time.strftime = lambda form, moment=None: of_now(form, time.localtime(time.time()) if moment is None else moment)
"""
"""sitecustomize.py that shifts the clock of a host; faketime breaks time.sleep of Python 3.11 and later."""
needs_sshfs = pytest.mark.skipif(shutil.which("sshfs") is None or not Path("/dev/fuse").exists(), reason="no sshfs")


def start(machines: Hosts, name: str, script: str, *words: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "bench" / script), *words]
    return machines.start_in(name, command, Path("/"), **QUIET, **environment)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=150)
    return process.returncode, out + err


@needs_sshfs
@pytest.mark.parametrize("names", [("h2", "h1"), ("h2", "h3")], ids=["one far", "both far"])
def test_hosts_with_an_sshfs_folder_make_every_run_once(machines, names, tmp_path):
    with ExitStack() as mounts:
        seen = [tmp_path if name == "h1" else mounts.enter_context(machines.far(name, tmp_path)) for name in names]
        if "h1" in names:  # h1 has locks and could choose them first
            (tmp_path / ".locks").mkdir()
            (tmp_path / ".locks" / "kind").write_text("leases\n")
        places = zip(names, seen, strict=True)
        sweeps = [start(machines, name, "run.py", *SWEEP, f"results={place}") for name, place in places]
        results = [ended(sweep) for sweep in sweeps]
    assert [code for code, _ in results] == [0, 0], results
    assert sum(text.count("done at step 400") for _, text in results) == 8, results
    assert sum(text.count("done before") for _, text in results) == 8, results
    assert [state(folder)["state"] for folder in folders(tmp_path)] == ["done"] * 8
    assert not [folder for folder in folders(tmp_path) if (folder / "damaged").exists()]
    assert [path.name for path in (tmp_path / ".locks").iterdir()] == ["kind"]


@needs_sshfs
def test_rejects_sshfs_if_other_hosts_use_locks(machines, tmp_path):
    small = ("dataset=digits", "nodes=4", "steps=20", "engine=stacked", "tracker=none")
    with machines.far("h2", tmp_path) as far:
        assert ended(start(machines, "h1", "run.py", *small, f"results={tmp_path}"))[0] == 0
        code, said = ended(start(machines, "h2", "run.py", *small, f"results={far}", "seed=1"))
        assert (code, len(folders(tmp_path))) == (2, 1)
        assert "fuse.sshfs" in said
        remedy = said.partition("type: ")[2].partition(", and start again")[0]
        machines.run_in("h2", "sh", "-c", remedy)
        assert ended(start(machines, "h2", "run.py", *small, f"results={far}", "seed=1"))[0] == 0
    assert (tmp_path / ".locks" / "kind").read_text() == "leases\n"


@needs_sshfs
def test_rejects_sshfs_that_hides_changes_of_other_hosts(machines, tmp_path):
    small = ("dataset=digits", "nodes=4", "steps=20", "engine=stacked", "tracker=none")
    with machines.far("h2", tmp_path, "-o", "auto_cache,attr_timeout=3600") as far:
        code, said = ended(start(machines, "h2", "run.py", *small, f"results={far}"))
        assert (code, folders(tmp_path)) == (2, [])
        assert "attr_timeout=3600" in said


@needs_sshfs
def test_reads_files_completely_that_another_host_extended(machines, tmp_path):
    """sshfs caches the size of a file for 20 s."""
    with machines.far("h2", tmp_path) as far:
        reader = subprocess.Popen(
            machines._entered("h2", [sys.executable, "-c", READ, f"{far}/a.json"], Path(ROOT)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert reader.stdin is not None
        assert reader.stdout is not None
        for size in (1, 100, 5000, 10, 20000):
            write_json(tmp_path / "a.json", {"a": "x" * size})
            machines.run_in("h2", "sleep", "1.5")  # the cache of the kernel expires after a second
            print(file=reader.stdin, flush=True)
            assert reader.stdout.readline().strip() == str(({"a": "x" * size}, None))
        reader.communicate(timeout=20)


def test_clocks_ten_minutes_ahead_and_behind(machines, tmp_path):
    """Each order retries a failed run once and makes a forced run once, on the first of two hosts."""
    huge = config(dataset={"name": "synthetic", "dimension": 10, "evaluation": 10**12}, results=str(tmp_path))
    fine = [replace(config(results=str(tmp_path), seed=seed), force=True) for seed in range(2)]
    (tmp_path / "sitecustomize.py").write_text(CLOCK)
    ahead = {"h2": "600", "h3": "-600"}
    for names in (("h2", "h3"), ("h3", "h2")):
        folder = new_folder(tmp_path)
        orders.make([huge, *fine], "trial", lambda todo: ([[place] for place in range(len(todo))], 1)).keep(folder)
        words = ("submit.py", "--work", str(folder))
        clocks = [{"PYTHONPATH": str(tmp_path), "AHEAD_S": ahead[name]} for name in names]
        said = [ended(start(machines, name, *words, **clock)) for name, clock in zip(names, clocks, strict=True)]
        assert [code for code, _ in said] == [1, 1], said
        assert [text.count("done at step") for _, text in said] == [2, 0], said
        assert [text.count("done before") for _, text in said] == [0, 2], said
        assert "failed before" in said[1][1]
    behind = [time.time() - state(folder)["time"] for folder in folders(tmp_path)]
    assert min(behind) > 500, behind
