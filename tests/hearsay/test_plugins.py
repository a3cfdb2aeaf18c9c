"""Plug-ins from files, scripts and notebooks."""

import sys

import pytest

import hearsay
from bench.base import imported
from bench.build.fingerprint import sources
from hearsay.plugins import refuse_edited
from tests.helpers.cli import ROOT, python
from tests.helpers.configs import config

METHOD = '''
from typing import NamedTuple
import hearsay

class State(NamedTuple):
    x: object

@hearsay.algorithm("{name}", vectors_per_step=1, assumes={{"bounded heterogeneity"}}, cite="folklore")
class Mine(hearsay.Algorithm):
    """X⁺ = W (X − η_t G(X))"""
    def start(self, x, grad, mix):
        return State(x)
    def step(self, s, t, grad, mix):
        return State(*mix(s.x - self.eta[t] * grad(s.x, t)))
'''
SWEEP = """
    same = {{"algo.eta": 0.01, "algo.schedule": "diminishing"}}
    runs = hearsay.sweep(same, algo=["{name}", "dsgd"], steps=20, {how}, tracker="none", quiet=True)
    one, other = (runs[runs["algo"] == name].set_index("step")["train_loss"] for name in ("{name}", "dsgd"))
    assert set(runs["state"]) == {{"done"}} and (one - other).abs().max() < 1e-6, runs
    print("compared", len(one))
"""


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("missing.py", None, "missing.py"),
        ("bad-name.py", "", "bad-name"),
        ("broken_1.py", "1 / 0", "ZeroDivisionError"),
    ],
)
def test_rejects_what_cannot_be_imported(tmp_path, name, text, shown):
    if text is not None:
        (tmp_path / name).write_text(text)
    before = list(sys.path)
    with pytest.raises(hearsay.UserError, match=shown):
        hearsay.plugin(tmp_path / name)
    sys.path[:] = before


@pytest.mark.thorough
def test_a_script_with_its_own_method_runs_on_mpi_ranks(tmp_path):
    script = tmp_path / "my_script.py"
    how = SWEEP.format(name="scripted", how="ranks=2")
    script.write_text(METHOD.format(name="scripted") + 'if __name__ == "__main__":' + how)
    done = python(str(script), cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert (done.returncode, done.stdout) == (0, "compared 2\n"), done.stderr


@pytest.mark.thorough
def test_a_script_without_a_guard_is_rejected(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(METHOD.format(name="unguarded") + "if True:" + SWEEP.format(name="unguarded", how="ranks=1"))
    done = python(str(script), cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 1
    assert "UserError" in done.stderr
    assert '__name__ == "__main__"' in done.stderr


@pytest.mark.thorough
def test_an_edited_file_asks_for_a_new_start(tmp_path):
    (tmp_path / "filed.py").write_text(METHOD.format(name="filed"))
    text = (
        "import hearsay\n"
        "print(hearsay.plugin('filed.py') is hearsay.plugin('filed.py'))\n"
        "with open('filed.py', 'a') as file:\n    file.write('# edited')\n"
        "try:\n    hearsay.plugin('filed.py')\nexcept hearsay.UserError as error:\n    print(error)\n"
    )
    (tmp_path / "use.py").write_text(text)
    done = python(str(tmp_path / "use.py"), cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "True"
    assert "filed.py" in second


MODULE = """
import torch

class Net(torch.nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.last = torch.nn.Linear(64, classes)

    def forward(self, x):
        return self.last(x.flatten(1))
"""


@pytest.mark.thorough
def test_a_sweep_rejects_files_that_were_edited_after_their_import(tmp_path):
    (tmp_path / "filed.py").write_text(METHOD.format(name="filed"))
    (tmp_path / "net_of_mine.py").write_text(MODULE)
    text = (
        "import hearsay, pathlib\n"
        "hearsay.plugin('filed.py')\n"
        "how = {'model': 'module', 'model.target': 'net_of_mine:Net', 'dataset': 'digits', 'nodes': 2, 'steps': 2}\n"
        "def sweep(algo):\n"
        "    try:\n        hearsay.sweep(how, algo=algo, tracker='none', quiet=True)\n        print('done')\n"
        "    except hearsay.UserError as error:\n        print(error)\n"
        "sweep('filed')\n"
        "for name, algo in (('filed.py', 'filed'), ('net_of_mine.py', 'dsgd')):\n"
        "    sweep('dsgd')\n"
        "    pathlib.Path(name).write_text(pathlib.Path(name).read_text() + '# edited')\n"
        "    sweep(algo)\n"
    )
    (tmp_path / "use.py").write_text(text)
    done = python(str(tmp_path / "use.py"), cwd=tmp_path, PYTHONPATH=f"{ROOT}:{tmp_path}")
    assert done.returncode == 0, done.stderr
    *_, first, again, second = said = done.stdout.splitlines()
    assert (said[:2], again) == (["done", "done"], "done")
    assert first.startswith("filed.py ")
    assert second.startswith("net_of_mine.py ")


def test_files_that_python_has_not_imported_may_be_edited_between_sweeps(tmp_path, monkeypatch):
    """Weights, those of another folder, and a module of the same name elsewhere on the path of Python."""
    monkeypatch.setattr(imported, "_outside", {})
    monkeypatch.setattr(imported, "_unimported", set())
    for name in ("lab1", "lab2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "helper_of_nets.py").write_text("width = 1\n")
        (tmp_path / name / "weights.pt").write_bytes(b"1")
        monkeypatch.syspath_prepend(tmp_path / name)
    module = "import helper_of_nets\n" + MODULE.replace("classes)", "classes, weights=0)", 1)
    (tmp_path / "lab2/helped_net.py").write_text(module)
    for name in ("helper_of_nets", "helped_net"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def run(lab):
        options = {"target": "helped_net:Net", "kwargs": {"weights": str(tmp_path / lab / "weights.pt")}}
        return config(model={"name": "module", **options})

    assert [sources(run(lab))["weights.pt"] for lab in ("lab1", "lab2")]
    for name in ("weights.pt", "helper_of_nets.py"):
        with (tmp_path / "lab1" / name).open("a") as file:
            file.write("# edited\n")
        refuse_edited([run("lab2")])
        refuse_edited([run("lab1")])
    (tmp_path / "lab2/helper_of_nets.py").write_text("width = 2\n")
    with pytest.raises(hearsay.UserError, match="helper_of_nets"):
        refuse_edited([run("lab1")])
