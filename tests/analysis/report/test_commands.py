"""Commands on the page: pasted into a shell, they find the same runs."""

import json
import os
import re
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
import yaml

from analysis.report.commands import run_command, sweep_commands
from bench.base.cells import name_of
from bench.base.home import ROOT
from bench.config.plan import of_command
from tests.helpers.invented import made


@pytest.mark.parametrize(
    "words",
    [
        "algo=dsgd algo.eta=1e-05 dataset=digits partition=dirichlet validation=0.2 links=lossy links.p=0.1 nodes=4",
        "algo=dnasa dataset=spike schedule_nodes=5 input_scale=2 topology=random regularizer=l2 eval_samples=100",
        """topology=edges "topology.file='it\\\\'s, my graph.txt'" nodes=3""",
        "dataset=digits model=module model.target=torch.nn:Linear 'model.kwargs={in_features: 64, out_features: 10}'",
    ],
)
def test_the_command_of_a_run_makes_the_same_run(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it's, my graph.txt").write_text("0 1\n1 2\n2 0\n")
    (run,) = of_command(shlex.split(words))
    command = run_command(yaml.safe_dump(run.plain(), sort_keys=False), {}, "results")
    assert command.startswith("python bench/run.py ")
    (again,) = of_command([word for word in shlex.split(command)[2:] if word != "-m"])
    assert again.run_id == run.run_id


def test_a_config_that_refers_to_itself_has_no_command():
    assert run_command("a: &a [1]\nb: [*a, *a]\n", {}, "results") == ""
    assert run_command("algo: {", {}, "results") == ""
    assert run_command(f"a: 1{':1' * 30_000}", {}, "results") == ""  # it would take seconds
    assert run_command("a: 1\n" * 5_000, {}, "results") == ""
    assert run_command("- a\n", {}, "results") == ""


def test_the_commands_of_sweeps_have_what_they_need():
    row = {"algo": "dsgd", "eta": 0.1, "end": 1.0}
    facts = [
        {"sweep": "--config-dir 'my conf' experiment=mine", "plugins": "a,b", "pythonpath": "plug"},
        {"sweep": "example"},
        {"sweep": "example"},
        {"sweep": "algo=dsgd seed=range(0,3)"},  # a manifest from before words were quoted
        {"sweep": "defaults"},
    ]
    assert sweep_commands(made([row] * 5, facts)) == [
        ("python bench/run.py experiment=example", 2),
        ("PYTHONPATH=plug HEARSAY_PLUGINS=a,b python bench/run.py --config-dir 'my conf' experiment=mine", 1),
        ("python bench/run.py -m algo=dsgd 'seed=range(0,3)'", 1),
        ("python bench/run.py", 1),
    ]


def test_the_command_of_a_notebooks_method_names_the_folder_of_its_module():
    module = name_of("mine", "text")
    results = made([{"algo": "dsgd", "eta": 0.1, "end": 1.0}], [{"sweep": "algo=mine", "plugins": module}])
    ((command, _),) = sweep_commands(results)
    assert command.startswith(f"HEARSAY_CELLS={results.source}/cells HEARSAY_PLUGINS={module} python")


@pytest.mark.thorough
def test_commands_of_the_page_run_when_pasted(tmp_path):
    """A sweep with a plug-in, a folder of configs and a results folder of its own; then all that its page offers."""
    (tmp_path / "bench").symlink_to(ROOT / "bench")
    (tmp_path / "analysis").symlink_to(ROOT / "analysis")
    method = (ROOT / "algorithms/dsgd.py").read_text().replace('"dsgd"', '"mine"').replace("DSGD", "Mine")
    for folder in ("plug", "my conf/experiment"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "plug" / "mine.py").write_text(method)
    blocks = {"blocks": [{"algo": "mine", "algo.eta": [0.1, 0.2], "seed": [0, 10], "steps": 20, "dataset": "digits"}]}
    (tmp_path / "my conf" / "experiment" / "both.yaml").write_text(yaml.safe_dump(blocks))
    home = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    home = {name: value for name, value in home.items() if name not in ("PYTHONPATH", "HEARSAY_PLUGINS")}

    def paste(command: str) -> str:
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=home, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    plugin = f"PYTHONPATH={tmp_path}/plug HEARSAY_PLUGINS=mine"
    how = "engine=stacked tracker=none results=out"
    paste(f"{plugin} python bench/run.py --config-dir 'my conf' experiment=both {how}")
    made = {run.name: (run / "status.json").read_bytes() for run in (tmp_path / "out/runs").iterdir()}
    assert len(made) == 4
    paste("python analysis/make_report.py --results out")
    text = (tmp_path / "out/report.html").read_text()
    sweeps = [unescape(command) for command in re.findall(r'<code class="paste">(.*?)</code>', text)]
    assert sweeps == [
        "PYTHONPATH=plug HEARSAY_PLUGINS=mine python bench/run.py --config-dir 'my conf' experiment=both "
        "engine=stacked results=out"
    ]
    details = json.loads(re.search(r'id="details">(.*?)</script>', text, re.DOTALL).group(1))
    for command in [*sweeps, next(iter(details.values()))["command"]]:
        assert "done" in paste(command)
    assert {run.name: (run / "status.json").read_bytes() for run in (tmp_path / "out/runs").iterdir()} == made
