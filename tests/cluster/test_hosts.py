"""Ranks on three machines over ssh: numbers, errors, and lost machines."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.cluster.hosts import NAMES, Hosts
from tests.helpers import openmpi
from tests.helpers.cli import ROOT
from tests.messages import KILLED

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(200), pytest.mark.xdist_group("hosts")]
DATA = ("dataset=synthetic", "dataset.evaluation=50")
SMALL = ("engine=mpi", "nodes=6", "steps=30", "eval_every=10", *DATA, "tracker=none")
LAUNCH = 'engine.launch="mpiexec -f hosts"'
TIMES = {"compute_s", "comm_s", "eval_s", "wall_s"}
PLUGIN = {"HEARSAY_PLUGINS": "tests.helpers.trouble", "PYTHONPATH": str(ROOT)}
YAML = "name: trouble\nschedule: diminishing\neta: 0.01\nhow: none\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder: a hosts file, a method, and a package with the name of a package of hearsay."""
    (tmp_path / "hosts").write_text("h1\nh2\nh3\n")
    (tmp_path / "slots").write_text("h1 slots=1\nh2 slots=1\n")
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "__init__.py").write_text("raise SystemExit('a stranger')")
    (tmp_path / "conf" / "algo").mkdir(parents=True)
    (tmp_path / "conf" / "algo" / "trouble.yaml").write_text(YAML)
    return tmp_path


def start(machines: Hosts, folder: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    """Start the command on h1, in the user's folder, without activating the Python environment."""
    command = [sys.executable, str(ROOT / "bench" / "run.py"), *SMALL, *words]
    return machines.start_in("h1", command, folder, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", **environment)


def trouble(machines: Hosts, folder: Path, how: str, *words: str) -> subprocess.Popen[str]:
    """Start an endless run, and wait for its first evaluation."""
    searched = f"hydra.searchpath=[file://{folder}/conf]"
    words = (searched, "algo=trouble", f"algo.how={how}", "steps=100000", LAUNCH, *words)
    process = start(machines, folder, *words, **PLUGIN)
    until(lambda: any(path.stat().st_size for path in results(folder, "metrics.jsonl")), process)
    return process


def until(true: Any, process: subprocess.Popen[str], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.5)


def results(folder: Path, name: str, place: str = "results") -> list[Path]:
    return sorted((folder / place / "runs").glob(f"*/{name}"))


def only(folder: Path, name: str) -> dict[str, Any]:
    (path,) = results(folder, f"{name}.json")
    return json.loads(path.read_text())


def ranks_on(machines: Hosts, name: str) -> list[int]:
    """Return the process numbers of the ranks on a machine."""
    lines = machines.run_in(name, "ps", "axww", "-o", "pid=,args=").splitlines()
    return [int(line.split()[0]) for line in lines if "bench.engine.worker" in line and "-m mpi4py" in line
            and line.split()[1] == sys.executable]  # fmt: skip


def tokens_seen(machines: Hosts, names: Sequence[str], process: subprocess.Popen[str]) -> int:
    """Count the command lines on all machines that contain the token, while all ranks run."""
    until(lambda: all(ranks_on(machines, name) for name in names), process)
    rank = ranks_on(machines, names[-1])[0]
    variables = machines.run_in(names[-1], "cat", f"/proc/{rank}/environ").split("\0")
    (token,) = (value.partition("=")[2] for value in variables if value.startswith("HEARSAY_TOKEN="))
    assert len(token) == 32
    return sum(machines.run_in(name, "ps", "axww", "-o", "args=").count(token) for name in NAMES)


def numbers(folder: Path, place: str = "results") -> pd.DataFrame:
    tables = [pd.read_parquet(path) for path in results(folder, "metrics.parquet", place)]
    assert tables
    return pd.concat(tables).drop(columns=list(TIMES))


def test_three_machines_give_the_numbers_of_one(machines, folder):
    several = ("-m", "algo=dnasa,dsgt", "ranks=3")
    process = start(machines, folder, *several, LAUNCH)
    assert tokens_seen(machines, NAMES, process) == 0
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    for path in results(folder, "manifest.json"):
        workers = json.loads(path.read_text())["workers"]
        assert workers["hosts"] == {"h1": [0], "h2": [1], "h3": [2]}
        assert len(workers["fingerprints"]) == 1
    alone = start(machines, folder, *several, "results=alone")
    out, err = alone.communicate()
    assert alone.returncode == 0, out + err
    pd.testing.assert_frame_equal(numbers(folder), numbers(folder, "alone"), check_exact=True)
    assert len(numbers(folder)) == 2 * 4


def test_names_a_lost_machine_and_kills_no_other_process(machines, folder):
    process = trouble(machines, folder, "slow", "ranks=3")
    (rank,) = ranks_on(machines, "h3")
    sleep = "(exec -a bench.engine.worker sleep 300) </dev/null >/dev/null 2>&1 & echo $!"
    bystander = machines.run_in("h1", "bash", "-c", f"echo {rank - 1} > /proc/sys/kernel/ns_last_pid; {sleep}")
    assert int(bystander) == rank
    try:
        began = time.monotonic()
        machines.kill("h3")
        out, err = process.communicate(timeout=60)
        assert time.monotonic() - began < 10
        assert process.returncode == 1
        assert only(folder, "status")["error"].startswith(f"rank 2 on h3 {KILLED}")
        assert "Traceback" not in out + err
        assert ranks_on(machines, "h1") == ranks_on(machines, "h2") == []
        machines.run_in("h1", "kill", "-0", str(rank))
    finally:
        machines.start("h3")
        machines.run_in("h1", "kill", str(rank))


def test_a_network_failure_ends_runner_and_ranks(machines, folder):
    (folder / "hosts").write_text("h2\nh3\n")
    process = trouble(machines, folder, "rest", "ranks=2")
    assert ranks_on(machines, "h2")
    began = time.monotonic()
    machines.link("h1", "down")
    try:
        process.communicate(timeout=60)
        assert process.returncode == 1
        assert KILLED in only(folder, "status")["error"]
        assert " on h" in only(folder, "status")["error"]
        while ranks_on(machines, "h2") or ranks_on(machines, "h3"):
            assert time.monotonic() - began < 45
            time.sleep(0.5)
    finally:
        machines.link("h1", "up")


def test_rejects_another_source_on_one_machine(machines, folder):
    (folder / "hosts").write_text("h1\nh2\n")
    source, other = ROOT / "algorithms" / "dsgt.py", folder / "other.py"
    other.write_text(source.read_text() + "\n# edited here alone\n")
    machines.run_in("h2", "mount", "--bind", str(other), str(source))
    try:
        process = start(machines, folder, "algo=dsgt", "ranks=2", LAUNCH)
        out, err = process.communicate()
    finally:
        machines.run_in("h2", "umount", str(source))
    assert process.returncode == 1, out + err
    error = only(folder, "status")["error"]
    assert error.startswith("rank 1 on h2 ")
    assert "algorithms/dsgt.py" in error


@pytest.mark.parametrize("name", ["torch", "numpy"])
def test_rejects_another_version_of_a_library_on_one_machine(machines, folder, name):
    (folder / "hosts").write_text("h1\nh2\n")
    text = f"import socket, {name}\nif socket.gethostname() == 'h2':\n    {name}.__version__ = '2.2.0'\n"
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(text)  # Python imports it at its start
    process = start(machines, folder, "algo=dsgt", "ranks=2", LAUNCH, PYTHONPATH=str(folder / "site"))
    out, err = process.communicate()
    assert process.returncode == 1, out + err
    here = only(folder, "manifest")["versions"][name]
    error = only(folder, "status")["error"]
    assert error.startswith("rank 1 on h2 ")
    assert f"{name} 2.2.0" in error
    assert f"{name} {here}" in error
    assert only(folder, "status")["step"] == 0
    assert not results(folder, "metrics.parquet")


def test_reports_a_runner_that_ranks_cannot_reach(machines, folder):
    (folder / "hosts").write_text("h2\n")
    process = start(machines, folder, "ranks=1", LAUNCH, "engine.host=127.0.0.1")
    out, err = process.communicate()
    assert process.returncode == 1, out + err
    error = only(folder, "status")["error"]
    assert error.startswith("rank 0 on h2 ")
    assert "127.0.0.1, port " in error
    assert "engine.host" in error
    assert "Traceback" not in out + err


def test_reports_a_folder_that_one_machine_lacks(machines, folder):
    mine = Path("/run/mine")  # /run is separate on each machine
    machines.run_in("h1", "mkdir", "-p", str(mine))
    process = start(machines, mine, "ranks=1", 'engine.launch="mpiexec -hosts h2"', f"results={folder}/results")
    out, err = process.communicate()
    assert process.returncode == 1, out + err
    assert "the folder /run/mine" in only(folder, "status")["error"]


@pytest.mark.skipif(openmpi.lacking() is not None, reason=str(openmpi.lacking()))
def test_openmpi_with_more_ranks_than_it_counts_slots(machines, folder):
    launch = f'engine.launch="{openmpi.LAUNCH} --hostfile slots"'
    process = start(machines, folder, "ranks=3", launch, MPI4PY_LIBMPI=str(openmpi.library()))
    assert tokens_seen(machines, ("h1", "h2"), process) == 0
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert only(folder, "manifest")["workers"]["hosts"] == {"h1": [0, 1], "h2": [2]}
    assert only(folder, "status")["state"] == "done"
