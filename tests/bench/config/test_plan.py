"""From the command line to runs: the same as Hydra composes, job by job, with far fewer compositions."""

import re
import time

import hydra
import pytest
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser

from bench.base.errors import UserError
from bench.base.registry import MODULES, NO_MODULE, broken_plugins, modules_named
from bench.config.compose import hydra_here, resolved
from bench.config.distinct import unique
from bench.config.plan import jobs_of, of_command
from bench.config.run_config import parse
from bench.sweep.preflight import checked
from bench.terminal.display import counting
from tests.helpers.cli import python, refused, run, typed
from tests.helpers.few import few
from tests.helpers.mentions import mentions
from tests.messages import SKIPPED

LINES = (
    "",
    "algo=dsgt algo.eta=0.3 seed=4",
    "algo=dsgd,dnasa topology=ring,complete seed=0,1",
    "algo=dsgt algo.eta=0.1,1e-3 seed=range(2) dataset=digits,synthetic",
    "dataset=a9a,spike batch_size=4 nodes=4,8",
    "model=linear,mlp dataset=digits partition=dirichlet partition.alpha=0.1,1",
    "topology=glob(r*) topology.lazy=true",
    "seed=shuffle(3,3) steps=range(10,30,10) scale=range(0.5,1.5,0.5)",
    "seed=1 seed=2,3 steps=7",
    "engine=stacked,mpi engine.timeout_s=5,7.5",
    "engine.launch=[mpiexec,-quiet] results='a b' tracker.project='x,y',z tracker.entity=null",
    "checkpoint_every=null,5 force=true,false data_dir=null dtype=float64",
    "steps=${nodes} nodes=4,8",
    "results=a/${seed} seed=1,2 algo=dsgd,dsgt",
    "++algo.schedule=fixed seed=0,1",
    "algo={name:dnasa,multiplier:2},{name:dnasa,multiplier:3} seed=0,1",
)
"""What can be typed after -m, as far as Hydra itself can compose it."""


def hydras(words):
    """What Hydra makes of a sweep: every job composed by itself."""
    loader = GlobalHydra.instance().config_loader()
    overrides = OverridesParser.create(loader).parse_overrides(words)
    (jobs,) = BasicSweeper.split_arguments(overrides, None)
    values = [resolved(hydra.compose("config", job)) for job in jobs]
    return [parse({key: value for key, value in one.items() if key != "experiment"}) for one in values]


QUICK = ("algo=dsgt algo.eta=0.3 seed=4", "seed=1 seed=2,3 steps=7", "results=a/${seed} seed=1,2 algo=dsgd,dsgt")


@pytest.mark.parametrize("line", few(LINES, QUICK))
def test_a_sweep_is_what_hydra_composes_job_by_job(line):
    words = re.findall(r"(?:'[^']*'|[^ ])+", line)
    with hydra_here(words):
        expected = hydras(words)
    assert of_command(words) == expected


@pytest.fixture
def compositions(monkeypatch):
    made = []
    compose = hydra.compose
    monkeypatch.setattr(hydra, "compose", lambda *args, **kwargs: made.append(args) or compose(*args, **kwargs))
    return made


def test_hydra_composes_once_per_combination_of_group_members(compositions):
    words = ["algo=dsgd,dsgt", "topology=ring,complete", "algo.eta=range(0.01,0.21,0.01)", "seed=range(5)", "steps=30"]
    runs = of_command(words)
    assert len(unique(runs)) == len(runs) == 2 * 2 * 20 * 5
    assert len(compositions) == 4


@pytest.mark.thorough
def test_hydra_composes_an_experiment_once_and_each_of_its_methods_on_each_graph_once(compositions):
    assert len(of_command(["experiment=example", "seed=range(3)", "steps=5"])) > 3 * 2
    assert len(compositions) <= 2 + 4 * 2  # with the experiment, and without it, to compare


def test_prints_the_progress_of_a_long_composition(capsys):
    """A line from the first second on, where there is much to do."""
    from rich.console import Console

    with counting(Console(stderr=True, width=100), "{} of {} done") as say:
        say(0, 5000)
        time.sleep(0.8)
        say(1, 50)
        say(1200, 5000)
        say(1201, 5000)
    assert capsys.readouterr().err == "1200 of 5000 done …\n"


def test_an_option_that_the_default_member_lacks(tmp_path):
    """With one value, in a sweep over members that all have it."""
    made = of_command(["algo=dsgd,dsgt", "algo.eta=0.05"])
    assert [(run.algo.name, run.algo.options["eta"]) for run in made] == [("dsgd", 0.05), ("dsgt", 0.05)]
    made = of_command(["partition=dirichlet,quantity", "partition.alpha=0.5", "dataset=digits"])
    assert [(run.partition.name, run.partition.options["alpha"]) for run in made] == [
        ("dirichlet", 0.5),
        ("quantity", 0.5),
    ]
    quick = ("steps=5", "dataset=synthetic", "dataset.evaluation=10", "engine=stacked", "tracker=none")
    done = typed("-m", "algo=dsgd,dsgt", "algo.eta=0.05", *quick, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/runs/*"))) == 2


BAD = {
    "-m algo=dnasa,dsgt algo.eta=0.05": "'algo.eta'",
    "-m algo=dsgt,dnasa algo.eta=0.01,0.1": "conf/experiment/example.yaml.",
    "-m algo=dsgt algo.eta=0.1,,0.2": "'algo.eta=0.1,,0.2'",
    "-m algo=dsgt algo.eta=0.1,": "'algo.eta=0.1,'",
    "-m partition=even,dirichlet partition.alpha=1 dataset=digits": "'partition.alpha'",
    "-m algo.eta=interval(0,1) algo=dsgd": "range(START,STOP,STEP)",
    "-m seed=range(0,0)": "empty",
    "algo": "'algo'",
    "results=[": "'results=['",
    "experiment=example experiment.size=quick": "experiment=example",
    "experiment.size=quick": "experiment=NAME",
    "steps.more=1": "'steps.more'",
}


@pytest.mark.parametrize("words", BAD)
def test_rejects_invalid_settings(words, tmp_path):
    refused(words, BAD[words], tmp_path)


def test_reports_the_position_of_invalid_yaml(tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("blocks:\n  - algo: dsgd\n   seed: [0\n")
    done = typed("experiment=mine", f"hydra.searchpath=[file://{tmp_path}]", cwd=tmp_path)
    assert done.returncode == 2
    assert "mine.yaml" in done.stderr
    assert "line 3, column 4" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_experiment_that_refers_to_what_is_typed(tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("blocks:\n  - {algo: dsgd, steps: '${nodes}', seed: [0, 1]}\n")
    made = of_command(["experiment=mine", f"hydra.searchpath=[file://{tmp_path}]", "nodes=12", "algo.schedule=fixed"])
    assert [(run.steps, run.seed, run.algo.options["schedule"]) for run in made] == [(12, 0, "fixed"), (12, 1, "fixed")]


@pytest.mark.parametrize(
    ("setting", "word", "offending"),
    [
        ("model.kwargs: {width: 16}", "model.kwargs.width=8", "'model.kwargs={width: VALUE}'"),
        ("model.kwargs.width: 16", "model.kwargs={width:8}", "model.kwargs.width=VALUE"),
        ("algo.eta: 0.1", "algo={schedule:fixed}", "algo.schedule=fixed"),
        ("algo.eta: 0.1", "++algo={name:ed}", "algo=ed"),
    ],
)
def test_rejects_typed_settings_that_an_experiment_overlaps(setting, word, offending, tmp_path):
    (tmp_path / "experiment").mkdir()
    block = f"blocks:\n  - algo: [dsgd, dsgt]\n    model: module\n    {setting}\n"
    (tmp_path / "experiment" / "mine.yaml").write_text(block)
    words = ["experiment=mine", f"hydra.searchpath=[file://{tmp_path}]"]
    with pytest.raises(UserError) as error:
        of_command([*words, word])
    assert word in str(error.value)
    assert offending in str(error.value)
    equal = setting.replace("16", "8").replace(": ", "=", 1)
    assert [run.algo.name for run in of_command([*words, equal])] == ["dsgd", "dsgt"]
    assert of_command([*words, equal])[0].model.options["kwargs"].get("width", 8) == 8


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("results=1.10", ["1.10"]),
        ("++results=2026_11_17", ["2026_11_17"]),
        ("results=1.10,b,5,'2.0',1e3,true", ["1.10", "b", "5", "2.0", "1e3", "true"]),
        ("results=5", ["5"]),
    ],
)
def test_keeps_typed_texts_that_look_like_numbers(words, found):
    assert [run.results for run in of_command([words])] == found


def test_keeps_the_typed_column_of_a_file():
    (run,) = of_command(["dataset=file", "dataset.column=1.10", "seed=1_0"])
    assert run.dataset.options["column"] == "1.10"
    assert run.seed == 10


@pytest.mark.parametrize("word", ["results='a,b',1.10", "results=choice(1.10,2)"])
def test_rejects_texts_that_look_like_numbers_and_cannot_be_kept(word):
    with pytest.raises(UserError, match=re.escape(word)):
        of_command([word])


def test_prints_the_version_of_hearsay(tmp_path):
    from bench import __version__

    assert typed("--version", cwd=tmp_path).stdout == f"hearsay {__version__}\n"


def test_rejects_a_sweep_without_m(tmp_path):
    with hydra_here([]), pytest.raises(UserError, match=r"seed=1,2 .*-m"):
        jobs_of(["seed=1,2"], several=False)


SOLO = """
import networkx as nx
from algorithms.dsgd import DSGD, State
from bench.method import algorithm
from bench.network import topology

@algorithm("solo", vectors_per_step=1, cite="nobody")
class Solo(DSGD):
    pull: float = 0.5

    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - self.eta[t] * self.pull * grad(s.x, t))
        return State(x)

@topology("hoop")
def hoop(nodes: int, skip: int = 2):
    return nx.circulant_graph(nodes, [1, skip])
"""


@pytest.mark.parametrize("module", ["lonely_file.py", "whole_package/__init__.py"])
def test_a_file_and_a_package_bring_experiments(module, tmp_path, monkeypatch):
    """A file in the folder conf beside it, a package in that within."""
    (conf := (tmp_path / module).parent / "conf" / "experiment").mkdir(parents=True)
    (tmp_path / module).touch()
    (conf / "mine.yaml").write_text("blocks:\n  - {algo: dsgd, algo.eta: [0.1, 0.2], steps: 7}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HEARSAY_PLUGINS", module.partition("/")[0].removesuffix(".py"))
    assert [(run.steps, run.algo.options["eta"]) for run in of_command(["experiment=mine"])] == [(7, 0.1), (7, 0.2)]


@pytest.mark.parametrize("words", ["algo=gone_one", "experiment=gone_one", "topology=0"])
def test_an_unknown_name_lists_the_broken_plugins(words, monkeypatch):
    monkeypatch.setitem(broken_plugins, "gone", "ModuleNotFoundError")
    with pytest.raises(UserError, match=r"called '(gone_one|0)'. .*'gone'\."):
        of_command([words])


@pytest.mark.thorough
def test_a_single_file_without_yaml_is_a_plugin(tmp_path):
    """Its defaults are those of its signature, in every command."""
    (tmp_path / "solo.py").write_text(SOLO)
    home = {"PYTHONPATH": str(tmp_path), "HEARSAY_PLUGINS": "solo,gone"}
    quick = ("steps=5", "dataset=synthetic", "dataset.evaluation=10", "engine=stacked", "tracker=none")
    words = ("-m", "algo=solo,dsgd", "topology=hoop", "algo.eta=0.05", "topology.skip=2,3", *quick)
    done = run(*words, cwd=tmp_path, **home)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/runs/solo-hoop-*"))) == 2
    assert SKIPPED.format("gone", "ModuleNotFoundError") in done.stderr
    assert "'gone'" in done.stderr.splitlines()[-1]
    shown = python("bench/topology.py", "topology=hoop", "nodes=7", cwd=tmp_path, **home)
    assert "hoop: 7 nodes, 14 edges" in shown.stdout
    assert SKIPPED.format("gone", "") in shown.stderr
    typo = run("algo=solo", "algo.pul=1", cwd=tmp_path, **home)
    assert mentions(typo.stderr, "'algo.pul'", "'pull'")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("bench/status.py", ("results", "algo=dnasa")),
        ("bench/contract.py", ("dsgd",)),
        ("bench/partition.py", ("dataset=digits",)),
        ("bench/fetch.py", ()),
    ],
)
def test_every_command_reports_a_broken_plugin(script, words, tmp_path):
    done = python(script, *words, cwd=tmp_path, HEARSAY_PLUGINS="gone")
    assert done.returncode == 0, done.stderr
    assert SKIPPED.format("gone", "ModuleNotFoundError") in done.stderr


@pytest.mark.parametrize("named", ["./solo", "solo.py", "so-lo", "a b", "/tmp/solo.py"])
def test_separates_invalid_module_names(named, monkeypatch):
    monkeypatch.setenv(MODULES, f" json ,{named}, ")
    assert modules_named() == (["json"], [named])
    assert "HEARSAY" not in NO_MODULE
    assert "commas between" in NO_MODULE


@pytest.mark.thorough
def test_commands_continue_after_an_invalid_module_name(tmp_path):
    for script, words in (("bench/methods.py", ("dsgd",)), ("bench/contract.py", ("dsgd",))):
        done = python(script, *words, cwd=tmp_path, HEARSAY_PLUGINS="./solo")
        assert SKIPPED.format("./solo", "") in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_five_thousand_configurations(tmp_path):
    """Up to where the first run would start: at most 5 ms of one core each, and something is said on the way."""
    sweep = ("algo=dsgd,dsgt", "algo.eta=range(0.001,0.101,0.001)", "seed=range(25)")
    begun = time.process_time()
    runs = of_command(sweep, checked)
    each = 1e3 * (time.process_time() - begun) / len(runs)
    print(f"{len(runs)} configurations, {each:.2f} ms each")
    assert len(unique(runs)) == 5050
    assert each < 5
    done = python("bench/status.py", "results", *sweep, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "5050 runs: 5050 missing" in done.stdout
    assert "of 5050 configurations …" in done.stderr
