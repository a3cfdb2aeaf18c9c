"""A stranger's package, installed for real into an environment of its own."""

import json
import os
import site
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bench.contracts.methods import CHECKS
from tests.helpers.cli import ROOT, python
from tests.helpers.mentions import mentions
from tests.messages import SKIPPED

pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("third party")]
EXAMPLE = Path(__file__).parent / "example"

BROKEN = """
import torch
from bench.method import Algorithm, algorithm
from algorithms.dsgd import DSGD, State

@algorithm("in_place", vectors_per_step=1, cite="nobody")
class InPlace(DSGD):
    def step(self, s, t, grad, mix):
        s.x.sub_(self.eta[t] * grad(s.x, t))
        return State(mix(s.x)[0])

@algorithm("wrong_shape", vectors_per_step=1, cite="nobody")
class WrongShape(DSGD):
    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - self.eta[t] * grad(s.x, t))
        return State(x.mean(1))

raise RuntimeError("this plug-in cannot be imported")
"""


class Environment:
    """A virtual environment that sees the suite's dependencies and has packages of its own."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=100)
        self.python = folder / "bin" / "python"
        (self.packages,) = folder.glob("lib/python*/site-packages")
        for number, shared in enumerate(site.getsitepackages()):
            (self.packages / f"shared{number}.pth").write_text(f"import site; site.addsitedir({shared!r})\n")

    def install(self, package: Path) -> None:
        words = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", str(package)]
        subprocess.run([self.python, *words], check=True, timeout=100, capture_output=True)

    def run(self, script: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        command = [str(self.python), str(ROOT / script), *words]
        home = Path(sys.executable).parent  # the MPI of the suite's environment
        path = {"PATH": f"{home}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(home.parent / "lib")}
        environment = {**os.environ, **path}
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=100)

    def quickly(self, script: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """What is installed there, found by a Python that has our libraries already."""
        return python(script, *words, cwd=cwd, PYTHONPATH=str(self.packages))


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp("environment"))
    source = tmp_path_factory.mktemp("source") / "example"
    subprocess.run(["cp", "-r", EXAMPLE, source], check=True)  # building leaves files beside the sources
    environment.install(source)
    return environment


def test_its_method_graph_and_dataset_run_in_a_sweep_beside_ours(environment, tmp_path):
    words = ("-m", "algo=nesterov,dsgd,dnasa", "topology=wheel,ring", "dataset=blobs", "steps=60", "seed=1")
    done = environment.run("bench/run.py", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stderr == f"Starting {' '.join(words)}\n"
    summaries = [json.loads(path.read_text()) for path in tmp_path.glob("results/runs/*/summary.json")]
    assert {(s["algo"], s["topology"]) for s in summaries} == {
        (algo, topology) for algo in ("nesterov", "dsgd", "dnasa") for topology in ("wheel", "ring")
    }
    assert all(s["state"] == "done" and s["dataset"] == "blobs" for s in summaries)
    assert {s["beta"] for s in summaries if s["algo"] == "nesterov"} == {0.9}
    assert all(s["test_accuracy"] > 80 for s in summaries if s["algo"] == "nesterov")


def test_its_options_and_names_are_known(environment, tmp_path):
    typo = environment.quickly("bench/run.py", "algo=nesterov", "algo.betta=1", cwd=tmp_path)
    assert typo.returncode == 2
    assert mentions(typo.stderr, "'algo.betta'", "'beta'")
    shown = environment.quickly("bench/topology.py", "topology=wheel", "nodes=6", cwd=tmp_path)
    assert "wheel: 6 nodes, 10 edges, diameter 2" in shown.stdout


def test_its_method_works_in_an_experiment(environment, tmp_path):
    conf = tmp_path / "conf" / "experiment"
    conf.mkdir(parents=True)
    (conf / "mine.yaml").write_text("blocks:\n  - algo: nesterov\n    algo.beta: [0.5, 0.9]\n    steps: 20\n")
    words = ("experiment=mine", f"hydra.searchpath=[file://{tmp_path}/conf]")
    done = environment.quickly("bench/run.py", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/runs/nesterov-ring-digits-s0-*"))) == 2


def test_one_line_tells_whether_it_keeps_its_promises(environment, tmp_path):
    done = environment.quickly("bench/contract.py", "nesterov", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "BROKEN" not in done.stdout
    assert done.stdout.count("\n  PASS") + done.stdout.count("\n  SKIP") == len(CHECKS)


def test_a_plugin_that_raises_is_named_and_the_rest_works(environment, tmp_path, tmp_path_factory):
    source = tmp_path_factory.mktemp("broken")
    (source / "hearsay_broken.py").write_text(BROKEN)
    (source / "pyproject.toml").write_text(
        textwrap.dedent("""
            [build-system]
            requires = ["setuptools"]
            build-backend = "setuptools.build_meta"
            [project]
            name = "hearsay-broken"
            version = "1.0"
            [project.entry-points."hearsay.plugins"]
            broken = "hearsay_broken"
            [tool.setuptools]
            py-modules = ["hearsay_broken"]
        """)
    )
    environment.install(source)
    done = environment.quickly("bench/run.py", "algo=nesterov", "steps=20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    reason = SKIPPED.format("broken", "RuntimeError: this plug-in cannot be imported")
    assert reason in done.stderr
    assert "Traceback" not in done.stderr

    promises = environment.quickly("bench/contract.py", "in_place", "wrong_shape", cwd=tmp_path)
    assert promises.returncode == 1
    assert "was modified in place" in promises.stdout
    assert "(2, 4) after step 1" in promises.stdout
