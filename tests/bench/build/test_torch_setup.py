"""Products of float32 numbers have all their bits, whatever a plug-in or a script asked torch for."""

import json
import subprocess
import sys

import pytest
import torch

from bench.build.torch_setup import own_precision, set_up_torch
from tests.helpers.cli import ROOT


def precision():
    """The precision of each part of torch that has one."""
    mkldnn, cudnn = torch.backends.mkldnn, torch.backends.cudnn
    parts = (mkldnn.matmul, mkldnn.conv, mkldnn.rnn, cudnn.conv, cudnn.rnn, torch.backends.cuda.matmul)
    return [part.fp32_precision for part in parts]


def asked():
    torch.backends.mkldnn.conv.fp32_precision = "bf16"
    torch.backends.cudnn.conv.fp32_precision = "tf32"
    torch.set_float32_matmul_precision("medium")


@pytest.fixture(autouse=True)
def usual():
    yield
    set_up_torch()


def test_all_parts_are_exact_in_a_run_and_as_before_after_it():
    asked()
    before = precision()
    with own_precision():
        set_up_torch()
        assert precision() == ["ieee"] * 6
        assert torch.get_float32_matmul_precision() == "highest"
    assert precision() == before
    assert torch.get_float32_matmul_precision() == "medium"


def test_a_thread_that_ends_first_leaves_the_others_exact():
    asked()
    before = precision()
    one, two = own_precision(), own_precision()
    one.__enter__()
    two.__enter__()
    set_up_torch()
    one.__exit__(None, None, None)
    assert precision() == ["ieee"] * 6
    two.__exit__(None, None, None)
    assert precision() == before


@pytest.mark.parametrize("engine", ["stacked", "mpi"])
def test_a_plugin_cannot_change_the_precision(engine, tmp_path):
    """The method asks for fewer bits when it is imported, and says in its state which precision its steps have."""
    (tmp_path / "hasty.py").write_text(
        "import torch\n"
        "from algorithms.dsgd import DSGD\n"
        "from bench.method import algorithm\n"
        "torch.set_float32_matmul_precision('medium')\n"
        "@algorithm('hasty', vectors_per_step=1, cite='mine', needs={'smoothness'}, assumes=set())\n"
        "class Hasty(DSGD):\n"
        "    def step(self, s, t, grad, mix):\n"
        "        assert torch.backends.mkldnn.matmul.fp32_precision == 'ieee'\n"
        "        assert torch.get_float32_matmul_precision() == 'highest'\n"
        "        return super().step(s, t, grad, mix)\n"
    )
    words = ["-m", "algo=hasty", "steps=2", "nodes=3", "tracker=none", f"engine={engine}", f"results={tmp_path / 'r'}"]
    done = subprocess.run(
        [sys.executable, ROOT / "bench/run.py", *words],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "HEARSAY_PLUGINS": "hasty", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (status,) = (tmp_path / "r").rglob("status.json")
    assert json.loads(status.read_text("utf-8"))["state"] == "done"
