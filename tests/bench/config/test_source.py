"""Where configurations are read from: --config-dir, --config-name, --config-path, hydra.searchpath and plug-ins."""

from importlib.metadata import EntryPoint

import pytest
from hydra import initialize_config_dir

from bench.base.errors import UserError
from bench.config import source
from bench.config.compose import compose_one, prepared
from bench.config.names import CONF
from bench.config.plan import of_command
from bench.config.source import USUAL, Source
from tests.helpers.cli import refused, typed

QUICK = ("dataset=synthetic", "dataset.evaluation=10", "engine=stacked", "tracker=none")


@pytest.fixture
def folder(tmp_path):
    """A user's own configurations, beside the folder where commands are typed."""
    home = tmp_path / "own"
    files = {
        "mine.yaml": "defaults:\n  - config\n  - override algo: dsgt\n  - _self_\nsteps: 7\nnodes: 4\n"
        "algo: {eta: 0.01}\n",
        "bare.yaml": "steps: 7\n",
        "typo.yaml": "defaults: [config, _self_]\nstepps: 7\n",
        "tuned.yaml": "defaults: [config, _self_]\nhydra: {sweeper: {params: {seed: '0,1'}}}\n",
        "first.yaml": "defaults: [_self_, config]\nsteps: 7\n",
        "moved.yaml": "defaults: [config, _self_]\nhydra: {job: {chdir: true}}\n",
        "experiment/everywhere.yaml": "# @package _global_\nnodez: 4\nexperiment: {blocks: [{algo: dsgd}]}\n",
        "experiment/small.yaml": "quick: {steps: 3}\nblocks: [{algo: dsgd, algo.eta: 0.01, steps: 50}]\n",
        "experiment/special.yaml": "steps: 6\nblocks:\n  - {algo: dsgd, algo.eta: 0.01, seed: [0, 1]}\n",
        "site/near.yaml": "partition: nearby\n",
    }
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (tmp_path / "here").mkdir()
    return home


@pytest.fixture
def here(folder):
    return folder.parent / "here"


def steps_of(done):
    """By method and seed, as the lines of a sweep say."""
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if " done at step " in line]
    return {line[1].partition("-")[0] + line[1].split("-")[3]: int(line[5]) for line in lines}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--config-dir {} --config-name mine", {"dsgts0": 7}),
        ("seed=0,1 -cd {} -m -cn mine.yaml steps=5", {"dsgts0": 5, "dsgts1": 5}),
        ("--config-path={} --config-name=mine hydra.verbose=false", {"dsgts0": 7}),
        ("experiment=special --config-dir ../own", {"dsgds0": 6, "dsgds1": 6}),
        ("experiment=small experiment.size=quick --config-dir ../own", {"dsgds0": 3}),
    ],
)
def test_a_run_uses_the_files_that_it_is_given(words, expected, folder, here):
    assert steps_of(typed(*words.format(folder).split(), *QUICK, cwd=here)) == expected


def test_every_command_reads_the_given_files(folder, here):
    flags = ("--config-dir", str(folder), "--config-name", "mine")
    shown = typed("results", "seed=0,1", *flags, cwd=here, script="bench/status.py")
    assert "2 runs: 2 missing" in shown.stdout
    assert "dsgt" in shown.stdout
    assert "ring: 4 nodes" in typed("topology=ring", *flags, "seed=1", cwd=here, script="bench/topology.py").stdout
    divided = typed("dataset=digits", *flags, "seed=1", cwd=here, script="bench/partition.py")
    assert len([line for line in divided.stdout.splitlines() if line.startswith("│")]) == 4
    words = ("seed=0,1", "--dry-run", "site=near", *QUICK)
    asked = typed(*flags, *words, cwd=here, script="bench/submit.py", environment={"PATH": "/nowhere"})
    assert asked.returncode == 0, asked.stderr
    assert "dsgt" in asked.stdout
    assert "--partition=nearby" in asked.stdout


def test_files_of_a_config_path_take_precedence_and_a_config_dir_must_not_repeat_conf(folder, here):
    (folder / "algo").mkdir()
    (folder / "algo" / "dnasa.yaml").write_text("name: dnasa\nschedule: fixed\nmultiplier: 2.0\n")
    both = [compose_one([], one).algo.options["multiplier"] for one in (USUAL, Source(main=folder))]
    assert both == [1.0, 2.0]
    refused(f"--config-dir {folder} algo=dsgd", "algo/dnasa.yaml", here)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("--config-name nope", "'nope'. Known: config."),
        ("--config-dir {} --config-name mien", "'mien'. Did you mean 'mine'?"),
        ("--config-dir nowhere", "--config-dir: there is no folder 'nowhere'"),
        ("--config-path nowhere", "--config-path: there is no folder 'nowhere'"),
        ("hydra.searchpath=[file://nowhere]", "hydra.searchpath=[file://nowhere]: there is no folder 'nowhere'"),
        ("hydra.searchpath=[pkg://nowhere.conf]", "'nowhere.conf'"),
        ("hydra.searchpath=[", "'hydra.searchpath=['"),
        ("--config-dir {} --config-name bare", "algo, topology, links and 30 other settings"),
        ("--config-dir {} --config-name typo", "'stepps'. Did you mean 'steps'?"),
        ("--config-dir {} --config-name tuned -m", "hydra.sweeper.params"),
        ("--config-dir {} --config-name first", "steps"),
        ("--config-dir {} --config-name moved", "hydra.job"),
        ("--config-dir {} experiment=everywhere", "'nodez'"),
        ("--config-dir {} experiment=specal", "'specal'. Did you mean 'special'?"),
    ],
)
def test_rejects_missing_and_incomplete_files(words, value, folder, here):
    refused(words.format(folder), value, here)


def test_the_folders_of_plugins_are_known_to_hydra(tmp_path, monkeypatch):
    (tmp_path / "brought" / "conf" / "experiment").mkdir(parents=True)
    (tmp_path / "brought" / "__init__.py").touch()
    (tmp_path / "brought" / "conf" / "experiment" / "theirs.yaml").write_text("blocks: [{algo: dsgd}]\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(source, "plugins", lambda: [EntryPoint("brought", "brought", "hearsay.plugins")])
    assert [run.algo.name for run in of_command(["experiment=theirs"])] == ["dsgd"]
    with pytest.raises(UserError, match=r"'their'.*'theirs'"):
        of_command(["experiment=their"])


@pytest.mark.parametrize(
    ("name", "text", "word", "number"),
    [
        (
            "experiment/zeros.yaml",
            "blocks:\n  - {algo: dsgd, steps: 010}\n",
            "experiment=zeros",
            r"line 2: .*\b010 as 8\b",
        ),
        (
            "experiment/zeros.yaml",
            "blocks: [{algo: dsgd, seed: [1, 07]}]\n",
            "experiment=zeros",
            r"line 1: .*\b07 as 7\b",
        ),
        ("algo/dsgd.yaml", "name: dsgd\neta: -0_1\n", "algo=dsgt,dsgd", "line 2: .* -0_1 as -1"),
        (
            "experiment/base.yaml",
            "blocks:\n  - {algo: dsgd, seed: 1:30}\n",
            "experiment=base",
            r"line 2: .*\b1:30 as 90\b",
        ),
        *(
            ("algo/dsgd.yaml", f"name: dsgd\neta: {text}\n", "algo=dsgd", f"line 2: .* {text} as {value}[.]")
            for text, value in (("1:30.5", "90.5"), ("-12:30:45.5", "-45045.5"), ("0:30.", "30.0"), ("1:30.", "90.0"))
        ),
        *(
            ("algo/dsgd.yaml", f"name: dsgd\neta: {text}\n", "algo=dsgd", f"line 2: .* {text[:9]}")
            for text in ("0" + "7" * 9000, "1" + ":1" * 9000)
        ),
        ("zeros.yaml", "defaults: [config, _self_]\nsteps: 00100\n", "seed=1", r"line 2: .*\b00100 as 64\b"),
    ],
)
def test_rejects_integers_that_yaml_reads_in_another_base(folder, name, text, word, number):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    main = "zeros" if name == "zeros.yaml" else "config"
    with pytest.raises(UserError, match=f"{name}, {number}"):
        prepared([word], Source(folder, main))
    (folder / name).write_text(
        "# 010\nsteps: 0\nalgo.eta: 0.01\ntext: '007'\nseed: [0, 100]\nid: a-01\nname: 01b\nat: '1:30.5'\n"
        "host: 10.0.0.1:30.5\ncount: 0:30\n"
    )
    prepared([word], Source(folder, main))


def test_rejects_to_compose_while_hydra_is_in_use():
    with initialize_config_dir(str(CONF), version_base="1.3"), pytest.raises(UserError, match="GlobalHydra"):
        compose_one(["seed=1"])
    assert compose_one(["seed=1"]).seed == 1
