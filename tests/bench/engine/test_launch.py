"""Start of ranks: launch command, environment, address of the runner, number of ranks."""

import socket
import sys
from pathlib import Path

import pytest

from bench.base.machine import HOST_LISTS, cores
from bench.engine.engines import engine_of
from bench.engine.launch import TO_PASS_ON, Launched, explain, launcher, passing_on
from bench.engine.link import ADDRESS, TOKEN, Link
from bench.engine.listener import AUTO, listening, own_names
from tests.helpers.cli import typed
from tests.helpers.configs import config

QUEUE = ("SLURM_NTASKS", "SLURM_JOB_NUM_NODES", "SLURM_JOB_CPUS_PER_NODE", "SLURM_CPUS_ON_NODE", "HYDRA_LAUNCHER")


@pytest.fixture
def no_queue(monkeypatch):
    for name in (*QUEUE, *HOST_LISTS):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def program(path: Path, text: str = "exit 1") -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("words", [None, ["mpiexec", "-f", "hosts"]])
def test_prefers_the_launcher_of_the_python_environment(words, tmp_path, monkeypatch):
    program(tmp_path / "mpiexec")
    monkeypatch.setenv("PATH", str(tmp_path))
    first, *rest = launcher(words)
    assert Path(first) == Path(sys.executable).parent / "mpiexec"
    assert rest == (words or [""])[1:]


def test_finds_a_launcher_in_the_folder_and_in_path(tmp_path, monkeypatch):
    program(tmp_path / "mylaunch")
    monkeypatch.chdir(tmp_path)
    assert launcher(["./mylaunch"]) == [str(tmp_path / "mylaunch")]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert launcher(["mylaunch"]) == [str(tmp_path / "mylaunch")]


def test_passes_on_names_and_never_the_token():
    environment = {TOKEN: "secret", "PYTHONPATH": "here", "HOME": "/root"}
    words = passing_on(environment, ["mpirun", "-x", "HOME"])
    assert words == ["mpirun", "-x", "HOME", "-x", TOKEN, "-x", "PYTHONPATH"]
    assert TO_PASS_ON not in environment  # OpenMPI 4 allows one way or the other
    assert passing_on(environment, ["mpirun"]) == ["mpirun"]
    assert environment[TO_PASS_ON] == f"{TOKEN};PYTHONPATH"
    environment[TO_PASS_ON] = "HOME"
    passing_on(environment, ["mpirun"])
    assert environment[TO_PASS_ON] == f"HOME;{TOKEN};PYTHONPATH"


@pytest.mark.parametrize("launched_by", ["mpiexec", None])
def test_all_processes_have_one_hash_seed(launched_by, tmp_path, monkeypatch):
    show = program(tmp_path / "show", f"""'{sys.executable}' -c 'print([hash("a"), *{{"a", "b", "c", "d", "e"}}])'""")
    if launched_by is None:
        monkeypatch.setattr(sys, "executable", str(show))
    outputs = set()
    for seed in ("random", "1"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        launched = Launched(2, launched_by and [str(show)], "127.0.0.1:1", f"hashes {seed}")
        assert launched.ended(60) == 0
        outputs.add(launched.output())
        launched.kill()
    assert len(outputs) == 1
    assert "'e'" in outputs.pop()


def test_every_name_of_this_machine_reaches_it():
    with listening(AUTO, backlog=8) as server:
        port = server.getsockname()[1]
        assert own_names()[0] == socket.gethostname()
        for name in ("127.0.0.1", socket.gethostname(), f"nobody.invalid,{','.join(own_names())}"):
            Link.connect(f"{name}:{port}").close()
    with pytest.raises(ConnectionRefusedError):
        Link.connect(f"127.0.0.1:{port}")
    with listening("127.0.0.1", backlog=8) as server:
        assert server.getsockname()[0] == "127.0.0.1"
    with pytest.raises(socket.gaierror):
        listening("nobody.invalid", backlog=8)


def test_listens_to_other_machines_only_if_ranks_may_be_there(no_queue):
    def host(**options):
        return engine_of(config(engine={"name": "mpi", **options})).launch_by().host

    assert host() == "127.0.0.1"
    assert host(launch=["mpiexec", "-f", "hosts"]) == AUTO
    assert host(launch=["mpiexec"], host="10.0.0.1") == "10.0.0.1"
    no_queue.setenv("SLURM_JOB_NUM_NODES", "1")
    assert host() == "127.0.0.1"
    no_queue.setenv("SLURM_JOB_NUM_NODES", "2")
    assert host() == AUTO
    no_queue.setenv("HYDRA_LAUNCHER", "fork")
    assert host() == "127.0.0.1"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        ({"SLURM_NTASKS": "6"}, 6),
        ({"SLURM_NTASKS": "6", "HYDRA_LAUNCHER": "fork"}, None),
        ({"SLURM_NTASKS": "1", "SLURM_CPUS_ON_NODE": "1"}, 1),
        ({"SLURM_JOB_NUM_NODES": "3", "SLURM_JOB_CPUS_PER_NODE": "2(x2),3"}, 7),
        ({"SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_CPUS_PER_NODE": "64"}, None),
    ],
)
def test_number_of_ranks_follows_slurm(no_queue, given, expected):
    here = cores()
    for name, value in given.items():
        no_queue.setenv(name, value)
    several = config(engine="mpi", nodes=100)
    assert engine_of(several).ranks(several) == (expected or here)
    assert engine_of(several).ranks(several, jobs=2) == max(1, (expected or here) // 2)
    few = config(engine="mpi", nodes=2)
    assert engine_of(few).ranks(few) == min(2, expected or here)


@pytest.mark.parametrize(
    ("output", "values"),
    [
        (
            "[proxy:2@h3] launch_procs (/src/pm/hydra/proxy/pmip_cb.c:884): unable to change wdir to /run/mine "
            "(No such file or directory)\n[proxy:2@h3] handle_launch_procs: launch_procs returned error\n",
            ("h3 ", " /run/mine"),
        ),
        (
            "ssh: connect to host h3 port 22: Connection timed out\n-----\nORTE was unable to reliably start",
            ("ssh: connect to host h3 port 22: Connection timed out",),
        ),
        (
            "me@h2: Permission denied (publickey).\n",
            ("me@h2: Permission denied (publickey).",),
        ),
        (
            "[mpiexec@h1] control_cb (/src/pm/hydra/mpiexec/pmiserv_cb.c:280): assert (!closed) failed\n",
            (str(Path.cwd()),),
        ),
    ],
)
def test_explains_a_failed_start_from_the_output_of_the_launcher(output, values):
    explanation = explain(f"\noutput of the ranks:\n{output}")
    assert explanation is not None
    assert all(value in explanation for value in values)
    assert explain("no queue for you\n") is None


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "values"),
    [
        (f"{ADDRESS}=127.0.0.1:9", ("127.0.0.1, port 9 (Connection refused)", "engine.host")),
        (f"-u {ADDRESS}", (f"{ADDRESS} is not set", "engine.launch")),
    ],
)
def test_a_rank_without_a_runner_reports_the_reason(change, values, tmp_path):
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "__init__.py").write_text("raise SystemExit('a stranger')")
    program(tmp_path / "launch", f'[ -e words ] || exit 9; shift 2; exec env {change} "$@"')
    (tmp_path / "words").touch()  # only in the working directory of the user
    done = typed("engine.launch=[./launch]", "ranks=1", "steps=10", "engine=mpi", cwd=tmp_path)
    assert done.returncode == 1
    assert f"failed: rank 0 on {socket.gethostname()} " in done.stdout
    assert all(value in done.stdout for value in values)
    assert "Traceback" not in done.stdout + done.stderr + next(tmp_path.glob("results/runs/*/log.txt")).read_text()
