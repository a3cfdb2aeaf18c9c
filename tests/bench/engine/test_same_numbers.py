"""MPI with any number of ranks computes the numbers of one process."""

import json
import os
import re
import subprocess
import sys

import pytest
import torch

from bench.build.torch_setup import set_up_torch
from bench.engine.launch import OPENMPI, launcher
from tests.helpers.cli import ROOT
from tests.helpers.compare import alone, asked, largest
from tests.helpers.synchronous import SYNCHRONOUS

SCRIPT = ROOT / "tests/helpers/compare.py"


@pytest.mark.parametrize("page", ["README.md", "docs/machines.md"])
def test_documents_say_how_many_steps_are_compared(page):
    (steps,) = re.findall(r"^STEPS, .* = (\d+),", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)
    assert f"each of {steps} steps" in " ".join((ROOT / page).read_text(encoding="utf-8").split())


@pytest.mark.thorough
@pytest.mark.timeout(240)
@pytest.mark.parametrize(("nodes", "ranks", "methods"), [(8, 1, "some"), (8, 2, "some"), (8, 3, "all"), (4, 4, "some")])
def test_every_method_on_several_graphs(nodes, ranks, methods):
    command = [*launcher(None), "-n", str(ranks), sys.executable, "-m", "mpi4py", str(SCRIPT), str(nodes), methods]
    environment = {**OPENMPI, **os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads(done.stdout.splitlines()[-1])
    disagreement = cases.pop("disagreement")
    assert methods == "some" or {case.split()[0] for case in cases} >= {*SYNCHRONOUS}
    assert len(cases) >= 5 * 3 + 2
    assert {case: off for case, off in cases.items() if not off <= 1e-12} == {}
    if ranks > 1:
        assert "rank 0 has noon" in disagreement


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.timeout(300)
def test_a_gpu_computes_what_a_cpu_computes():
    set_up_torch()
    cases = asked(8, 2, "all")
    off = {case: largest(*alone(c, torch.device("cuda")), *alone(c)) for case, c in cases.items()}
    assert {case.split()[0] for case in cases} >= {*SYNCHRONOUS}
    assert {case: error for case, error in off.items() if not error <= 1e-12} == {}
