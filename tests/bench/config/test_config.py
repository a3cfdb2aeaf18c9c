"""What a run is, and when two runs are the same."""

import ast
import inspect
import re
import shutil
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from hydra import initialize_config_dir
from omegaconf import OmegaConf

import bench
from bench.base import imported
from bench.base.errors import UserError
from bench.base.home import ROOT
from bench.base.registry import algorithms, compressors, datasets, links, models, partitions, topologies
from bench.build import fingerprint, source_files
from bench.config.choices import options_of
from bench.config.distinct import unique
from bench.config.experiment import blocks_of
from bench.config.plan import Planner, of_command
from bench.config.run_config import GROUPS, NEUTRAL, RunConfig, parse
from bench.config.source import USUAL, plugin_folders, used
from bench.store.record import HOW
from tests.helpers.cli import python
from tests.helpers.configs import config

CONF = Path(bench.__file__).parents[1] / "conf"


def test_the_run_id_is_readable_and_covers_what_changes_the_numbers():
    ids = {
        config().run_id,
        config(seed=1).run_id,
        config(dtype="float32").run_id,
        config(eval_every=20).run_id,
        config(scale=2.0).run_id,
        config(algo={"name": "dnasa", "schedule": "fixed"}).run_id,
        config(topology={"name": "ring", "lazy": True}).run_id,
    }
    assert len(ids) == 7
    assert config().run_id.startswith("dnasa-ring-synthetic-s0-")
    assert config(results="elsewhere", force=True).run_id == config().run_id


def test_labels_are_flat():
    labels = config(algo={"name": "dsgd", "eta": 0.5}).labels()
    assert labels["algo"] == "dsgd"
    assert labels["eta"] == 0.5
    assert labels["schedule"] == "diminishing"
    assert labels["topology.weights"] == "max_degree"
    assert not any(isinstance(value, dict) for value in labels.values())


@pytest.mark.parametrize(
    ("kwargs", "label", "value"),
    [({"a": None}, "a", "null"), ({"a": {}}, "a", "{}"), ({"a": {"b": None}}, "a.b", "null"), ({}, "a", None)],
)
def test_a_null_or_empty_argument_of_a_module_differs_from_a_missing_one(kwargs, label, value):
    made = config(model={"name": "module", "target": "net:Net", "kwargs": kwargs})
    assert made.labels().get(f"model.kwargs.{label}") == value
    assert made.plain()["model"]["kwargs"] == kwargs


@pytest.mark.parametrize("group", GROUPS)
def test_conf_says_the_same_as_the_code(group, monkeypatch):
    """Every member of a group lists every option, with the code's default."""
    for name in ("WANDB_PROJECT", "WANDB_ENTITY"):  # they are defaults where they are set
        monkeypatch.delenv(name, raising=False)
    for file in sorted((CONF / group).glob("*.yaml")):
        values = yaml.safe_load(file.read_text())
        values = OmegaConf.to_container(OmegaConf.create(values.get(group, values)), resolve=True)
        assert values.pop("name") == file.stem
        assert values == {name: option.default for name, option in options_of(group, file.stem).items()}


def test_config_yaml_has_the_defaults_of_the_code():
    """A setting that has a value in the code, for runs from before it was there, has the same in conf/config.yaml."""
    said = yaml.safe_load((CONF / "config.yaml").read_text())
    chosen = {group: name for line in said["defaults"] if isinstance(line, dict) for group, name in line.items()}
    neutral = {one.name: one.metadata[NEUTRAL] for one in fields(RunConfig) if NEUTRAL in one.metadata}
    assert neutral
    assert {name: {**said, **chosen}[name] for name in neutral} == {
        name: getattr(value, "name", value) for name, value in neutral.items()
    }
    assert {*said, *chosen} - {"defaults", "hydra", "experiment"} == {one.name for one in fields(RunConfig)}


@pytest.fixture
def hydra_here():
    with used(USUAL), initialize_config_dir(str(CONF), version_base="1.3"):
        yield


def test_an_experiment_is_a_union_of_grids():
    runs = of_command(["experiment=example"])
    assert len(runs) == 3 * 4 * 2 * 3 + 2 * 3
    assert len(unique(runs)) == len(runs)
    assert {run.algo.options["eta"] for run in runs if run.algo.name == "dsgd"} == {0.003, 0.01, 0.03, 0.1}
    assert all(run.batch_size == 1 for run in runs)


def test_the_command_line_wins_over_the_experiment():
    typed = ["experiment=example", "topology=ladder", "seed=9", "steps=7"]
    runs = unique(of_command(typed))
    assert len(runs) == 3 * 4 + 1
    assert {(run.topology.name, run.seed, run.steps) for run in runs} == {("ladder", 9, 7)}


@pytest.mark.parametrize("experiment", ["{}", "{blocks: 3}", "{blocks: {algo: dsgd}}", "{blocks: [3]}"])
def test_rejects_an_experiment_without_blocks(experiment):
    with pytest.raises(UserError, match="'blocks'"):
        of_command([f"+experiment={experiment}"])


HOMES = [home / "experiment" for home in (CONF, *plugin_folders())]
EXPERIMENTS = [file.relative_to(home) for home in HOMES for file in home.rglob("*.yaml")]


@pytest.mark.timeout(300)  # a minute on an idle core
@pytest.mark.parametrize("names", [["paper/speedup"], pytest.param(None, marks=pytest.mark.thorough)])
@pytest.mark.usefixtures("hydra_here")
def test_every_experiment_composes(names):
    # one for all: most combinations of group members come again
    planner = Planner(parse, lambda made, of: None, None, "config")
    every = {file.with_suffix("").as_posix() for file in EXPERIMENTS} - {
        "defaults"
    }  # slow: tests/bench/config/test_defaults.py
    for name in names or sorted(every):
        runs = planner.runs([[f"experiment={name}"]])
        if name != "example":
            words = [f"experiment={name}", "experiment.size=quick"]
            quick = planner.runs([words])
            assert {run.algo.name for run in quick} == {run.algo.name for run in runs}
            assert sum(run.steps for run in quick) <= sum(run.steps for run in runs) / 10


def test_quick_of_all_blocks_and_of_one_are_merged():
    common = {"steps": 50, "nodes": 8, "quick": {"steps": 5}}
    blocks = [{"algo": "dsgd", "seed": [0, 1], "quick": {"seed": [0]}}]
    assert blocks_of({"size": "quick", "common": common, "blocks": blocks}) == [
        {"steps": 5, "nodes": 8, "algo": "dsgd", "seed": [0]}
    ]


def test_quick_settings_apply_to_all_blocks_and_quick_options_where_they_occur():
    blocks = [{"algo": "dsgd", "steps": 30}, {"algo": "dsgt"}, {"algo": "dsgt", "algo.eta": 1}]
    found = blocks_of({"size": "quick", "blocks": blocks, "quick": {"steps": 5, "algo.eta": 2}})
    assert [(block["steps"], block.get("algo.eta")) for block in found] == [(5, None), (5, None), (5, 2)]


@pytest.mark.parametrize("quick", [{}, None, {"quick": {"steps": 3}}])
def test_a_quick_size_that_replaces_nothing_is_an_error(quick):
    with pytest.raises(UserError, match="quick"):
        blocks_of({"size": "quick", "blocks": [{"algo": "dsgd", "steps": 10, "quick": quick}]})


def test_the_blocks_of_an_experiment():
    """What is common to all, what a block says, and what is smaller in the quick size, in this order."""
    experiment = {
        "common": {"steps": 100, "seed": [0, 1], "nodes": 8},
        "quick": {"steps": 10, "algo.eta": 3},
        "blocks": [{"algo": "dnasa"}, {"algo": "dsgt", "algo.eta": [1, 2], "nodes": 4, "quick": {"steps": 5}}],
    }
    first, second = blocks_of({**experiment, "size": "quick"})
    assert first == {"steps": 10, "seed": [0, 1], "nodes": 8, "algo": "dnasa"}
    assert second == {"steps": 5, "seed": [0, 1], "nodes": 4, "algo": "dsgt", "algo.eta": 3}
    first, second = blocks_of(experiment)
    assert first == {"steps": 100, "seed": [0, 1], "nodes": 8, "algo": "dnasa"}
    assert second == {"steps": 100, "seed": [0, 1], "nodes": 4, "algo": "dsgt", "algo.eta": [1, 2]}
    with pytest.raises(UserError, match="'tiny'"):
        blocks_of({**experiment, "size": "tiny"})


@pytest.mark.parametrize("place", ["common", "blocks"])
def test_a_block_cannot_keep_the_options_of_another_member(place):
    setting = {"algo.name": "dsgt"}
    parts = {"common": setting if place == "common" else {}, "blocks": [setting if place == "blocks" else {}]}
    with pytest.raises(UserError, match=r"'algo\.name'.*algo=dsgt"):
        blocks_of(parts)


def test_settings_beside_the_blocks_are_common_to_them():
    """A block wins over them, and the quick size over both."""
    experiment = {"steps": 9, "nodes": 4, "quick": {"steps": 2}, "blocks": [{"algo": "dsgd"}, {"nodes": 6}]}
    assert blocks_of(experiment) == [{"steps": 9, "nodes": 4, "algo": "dsgd"}, {"steps": 9, "nodes": 6}]
    assert [block["steps"] for block in blocks_of({**experiment, "size": "quick"})] == [2, 2]
    runs = {"blocks": [{"algo": "dsgt"}], "algo.eta": [0.1, 0.2], "topology": "complete"}
    assert blocks_of(runs) == [{"algo.eta": [0.1, 0.2], "topology": "complete", "algo": "dsgt"}]


BLOCKS = {"blocks": [{"algo": "dsgd", "seed": [0, 1]}]}


@pytest.mark.parametrize(
    ("experiment", "value"),
    [
        ({**BLOCKS, "stepps": 9}, "'steps'"),
        ({**BLOCKS, "eta": 9}, "'algo.eta'"),
        ({**BLOCKS, "comon": {"steps": 9}}, "'common'"),
        ({"block": []}, "'blocks'"),
        ({"blocks": []}, "experiment=mine"),
        ({"blocks": [{"algo": "dsgd", "seed": []}]}, "'seed'"),
        ({**BLOCKS, "steps": 3, "common": {"steps": 4}}, "'steps'"),
        ({**BLOCKS, "quick": {"sead": 3}}, "'sead'"),
        ({"blocks": [{"steps": 5, "quick": {"seed": 1}}]}, "'seed'"),
        ({**BLOCKS, "algo": {"eta": 0.7}}, "algo.eta: VALUE"),
        ({"blocks": [{"algo": {"name": "dsgd", "eta": 0.7}}]}, "algo.eta: VALUE"),
        ({**BLOCKS, 3: 4}, "3"),
        ({"blocks": [{"algo": "dsgd", True: 4}]}, "True"),
        ({**BLOCKS, "quick": {None: 4}}, "None"),
        ({"blocks": [{"algo": "dsgd", "quick": 3}]}, "'blocks'"),
        ({**BLOCKS, "quick": 3, "size": "quick"}, "'blocks'"),
        ({**BLOCKS, "common": []}, "'blocks'"),
    ],
)
def test_rejects_keys_without_effect_in_an_experiment(experiment, value):
    with pytest.raises(UserError, match=re.escape(value)) as caught:
        blocks_of(experiment, "experiment=mine")
    assert "experiment=mine" in str(caught.value)


def test_the_command_line_wins_over_settings_beside_the_blocks():
    words = ["+experiment={steps:9,nodes:4,blocks:[{algo:dsgd},{algo:dsgt,nodes:6}]}", "steps=3"]
    assert [(run.algo.name, run.steps, run.nodes) for run in of_command(words)] == [("dsgd", 3, 4), ("dsgt", 3, 6)]


def test_rejects_unknown_keys_in_a_block():
    for block, key in (
        ("{algo:dnasa,algo.eta:0.1}", "'algo.eta'"),
        ("{stepps:3}", "'stepps'"),
        ("{algor.eta:3}", "'algor.eta'"),
    ):
        with pytest.raises(UserError, match=key):
            of_command([f"+experiment={{blocks:[{block}]}}"])


def test_the_fingerprint_covers_the_numbers_and_nothing_else():
    covered = set(fingerprint.sources(config(dataset="digits", model="mlp")))
    everywhere = {"bench/base/randomness.py", "bench/method/algorithm.py", "bench/problem/supervised.py"}
    everywhere |= {"bench/training/loop.py", "bench/training/mixers.py", "bench/network/weights.py"}
    chosen = {"algorithms/dnasa.py", "datasets/digits.py", "datasets/partitions.py", "bench/network/graphs.py"}
    assert everywhere | chosen <= covered
    plumbing = ("bench/sweep", "bench/terminal", "bench/contracts", "bench/config", "bench/run.py")
    assert [
        name for name in covered if name.startswith((*plumbing, "algorithms/dsgd", "analysis", "datasets/a9a"))
    ] == []
    assert fingerprint.fingerprint(config()) == fingerprint.fingerprint(config(seed=1))
    assert fingerprint.fingerprint(config()) != fingerprint.fingerprint(config(algo="dsgd"))


def imports_of(files, stop=frozenset()):
    """The files of the suite that these files import, directly or not, but not through those of ``stop``."""
    seen, todo = set(), [*files]
    while todo:
        for node in ast.walk(ast.parse(todo.pop().read_bytes())):
            names = [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            places = [ROOT / (name.replace(".", "/") + ".py") for name in names if name.startswith(SUITE)]
            new = {place for place in places if place.is_file()} - seen
            seen |= new
            todo += new - stop
    return {file.relative_to(ROOT).as_posix() for file in seen}


SUITE = ("bench.", "algorithms.", "datasets.")


def test_the_fingerprint_covers_all_imports_of_the_core():
    """Whatever a covered file imports from bench is covered, a choice by name, or known to be plumbing."""
    core = {file.relative_to(ROOT).as_posix() for file in source_files.core()}
    missing = {name for name in imports_of(source_files.core()) - core if not name.startswith(source_files.PLUMBING)}
    by_name = {f"bench/network/{name}.py" for name in ("graphs", "compressors", "compressor", "links", "from_file")}
    by_name |= {f"bench/models/{name}.py" for name in ("model", "module", "target", "trainable", "dense")}
    by_name |= {file.relative_to(ROOT).as_posix() for file in fingerprint.ORDER}  # of asynchronous methods
    assert missing - by_name == set()


@pytest.mark.parametrize("registry", [models, topologies, partitions, algorithms, datasets, links, compressors])
def test_the_fingerprint_covers_all_imports_of_a_choice(registry):
    every = {path for folder in imported.FOLDERS for path in (ROOT / folder).rglob("*.py")}
    known = {path for path in every if source_files._known(path)}
    for name in registry:
        file = Path(inspect.getfile(inspect.unwrap(getattr(registry[name], "graph", registry[name]))))
        found = {path.relative_to(ROOT).as_posix() for path in source_files.with_imports(file)}
        assert imports_of([file], known) - found <= {path.relative_to(ROOT).as_posix() for path in known}, name


def test_the_fingerprint_covers_the_layers_of_a_model_and_the_graphs_of_a_file(tmp_path):
    (tmp_path / "graph.txt").write_text("0 1")
    for model in ("cnn", "lenet", "resnet20"):
        assert "bench/models/dense.py" in fingerprint.sources(config(dataset="digits", model=model))
    for topology in ("edges", "matrix", "row_stochastic"):
        files = fingerprint.sources(config(topology=topology))
        assert {"bench/network/graphs.py", "bench/network/from_file.py"} <= files.keys()


def test_the_fingerprint_covers_what_a_plug_in_takes_from_the_suite(tmp_path):
    text = "from bench.network import topology\nfrom algorithms.nsgdm import NSGDM\nimport datasets.standardized"
    (tmp_path / "mine.py").write_text(text)
    found = {
        path.relative_to(ROOT).as_posix()
        for path in source_files.with_imports(tmp_path / "mine.py")
        if path.is_relative_to(ROOT)
    }
    assert {
        "bench/network/graphs.py",
        "algorithms/nsgdm.py",
        "algorithms/dnasa.py",
        "datasets/standardized.py",
    } <= found


def test_the_fingerprint_covers_the_imports_of_a_plug_in(tmp_path):
    """Its own package and neighbors, as deep as it goes; neither what is installed nor the core."""
    package = tmp_path / "mine"
    package.mkdir()
    files = {
        "__init__.py": "from mine.method import Mine",
        "method.py": "import torch\nfrom bench.method import Algorithm\nfrom .rules import rule\nimport helper",
        "rules.py": "from mine import deep",
        "deep.py": "",
        "unused.py": "",
    }
    for name, text in files.items():
        (package / name).write_text(text)
    (tmp_path / "helper.py").write_text("import numpy")
    found = {path.relative_to(tmp_path).as_posix() for path in source_files.with_imports(package / "method.py")}
    assert found == {"mine/__init__.py", "mine/method.py", "mine/rules.py", "mine/deep.py", "helper.py"}


def test_the_fingerprint_covers_the_packages_above_an_import(tmp_path):
    """Python runs the __init__ file of every package on the way, also of the plug-in's own."""
    files = {
        "mine/__init__.py": "",
        "mine/inner/__init__.py": "",
        "mine/inner/method.py": "import pack.sub.deep\nfrom other.sub import name",
        "pack/__init__.py": "import constants",
        "pack/sub/__init__.py": "",
        "pack/sub/deep.py": "",
        "other/__init__.py": "",
        "other/sub.py": "",
        "constants.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    found = source_files.with_imports(tmp_path / "mine/inner/method.py")
    assert {path.relative_to(tmp_path).as_posix() for path in found} == files.keys()


def test_the_fingerprint_ignores_other_installed_packages(tmp_path):
    """In site-packages its neighbors are libraries, torch among them."""
    files = {
        "mine/__init__.py": "",
        "mine/method.py": "import torch\nfrom algorithms.dsgd import DSGD\nfrom mine import rules",
        "mine/rules.py": "import numpy",
        "mine-1.0.dist-info/METADATA": "",
        "torch/__init__.py": "import numpy",
        "numpy.py": "",
        "algorithms/dsgd.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    counted = source_files.with_imports(tmp_path / "mine/method.py")
    found = {path.relative_to(tmp_path).as_posix() for path in counted if path.is_relative_to(tmp_path)}
    assert found == {"mine/__init__.py", "mine/method.py", "mine/rules.py"}
    assert ROOT / "algorithms" / "dsgd.py" in counted  # the suite's own


@pytest.mark.thorough
def test_the_fingerprint_does_not_depend_on_where_the_files_lie(tmp_path):
    """Two copies of the suite agree; a copy with another loop does not."""
    prints = []
    for name in ("here", "there", "other"):
        home = tmp_path / name
        for part in ("bench", "algorithms", "datasets", "tests/helpers"):
            shutil.copytree(CONF.parent / part, home / part, ignore=shutil.ignore_patterns("__pycache__"))
        if name == "other":
            with (home / "bench" / "training" / "loop.py").open("a") as loop:
                loop.write("# another loop")
        code = "from bench.build.fingerprint import fingerprint; from tests.helpers.configs import config"
        code += "; print(fingerprint(config()))"
        (home / "look.py").write_text(code)
        prints.append(python(str(home / "look.py"), cwd=home).stdout)
    assert prints[0] == prints[1] != ""
    assert prints[2] not in (prints[0], "")


def test_the_settings_of_the_execution_are_listed_once_more_for_readers_without_a_configuration():
    assert {item.name for item in fields(RunConfig) if "how" in item.metadata} == {*HOW}
