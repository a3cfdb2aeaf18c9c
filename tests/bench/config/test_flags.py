"""The flags of run.py, and the settings of Hydra that are typed beside ours."""

import pytest

from bench.base.errors import UserError
from bench.config import flags
from bench.config.source import USUAL
from tests.helpers.cli import typed


@pytest.mark.parametrize(
    ("line", "words", "several", "shows"),
    [
        ("algo=dnasa -m topology=ring,complete", "algo=dnasa topology=ring,complete", True, ""),
        ("steps=1 --cfg job seed=2", "steps=1 seed=2", False, "--cfg=job"),
        ("-m steps=1 -c job seed=2 --resolve", "steps=1 seed=2", True, "--cfg=job --resolve"),
        ("--info steps=1", "steps=1", False, "--info=all"),
        ("steps=1 -i defaults seed=2", "steps=1 seed=2", False, "--info=defaults"),
        ("--run -p algo steps=1 --cfg all", "steps=1", False, "--cfg=all --package=algo"),
        ("steps=1 --multirun", "steps=1", True, ""),
    ],
)
def test_settings_may_stand_on_both_sides_of_any_flag(line, words, several, shows):
    given = flags.read(line.split())
    assert (given.words, given.several, given.shows) == (words.split(), several, shows.split())


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("-m algo=dnasa,dsgt --cfg job", "--cfg=job shows one configuration, and algo=dnasa,dsgt names several values"),
        ("--multirun --info seed=range(3)", "--info=all shows one configuration, and seed=range"),
        ("--experimental-rerun x", "--experimental-rerun is not supported: .* Type the command of the run again"),
        ("--resolve", "--resolve is for --cfg: add --cfg=job"),
        ("--package algo", "--package=algo is for --cfg"),
        ("--cfg job --info", "--cfg=job and --info=all show different things"),
    ],
)
def test_flags_that_do_not_go_together_are_said(line, sentence):
    with pytest.raises(UserError, match=sentence):
        flags.read(line.split())


@pytest.mark.parametrize("word", ["hydra.sweeper=optuna", "hydra/sweeper=optuna", "+hydra/sweeper=ax"])
def test_there_is_no_other_sweeper(word):
    with pytest.raises(UserError, match=r"is not supported: .* -m seed=0,1,2, or write an experiment"):
        flags.launcher_of([word], USUAL)


@pytest.mark.parametrize("word", ["hydra.launcher=joblib", "hydra/launcher=joblib", "hydra/launcher=ray"])
def test_launchers_that_are_not_supported_are_said_with_those_that_are(word):
    with pytest.raises(UserError, match="with one of basic, here, slurm, submitit_local, submitit_slurm, or use"):
        flags.launcher_of([word], USUAL)


def test_launchers_that_are_supported():
    assert flags.launcher_of(["hydra/launcher=slurm", "seed=0"], USUAL) == "hydra/launcher=slurm"
    assert flags.launcher_of(["hydra/launcher=basic", "hydra/sweeper=basic", "seed=0"], USUAL) is None


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("-m steps=7 --cfg job nodes=4", 0, "nodes: 4\nsteps: 7\n"),
        ("--multirun --info", 0, "Installed Hydra Plugins"),
        ("--shell-completion", 2, "--shell-completion: Expecting one subcommand"),
        ("=3", 2, "'=3' is no setting: settings are typed as NAME=VALUE"),
        ("hydra=3", 2, "'hydra=3' is no setting"),
        ("hydra.launcher.n_jobs=3", 2, "Hydra has no setting 'hydra.launcher.n_jobs'"),
    ],
)
def test_nothing_of_hydra_is_a_traceback(words, code, said, tmp_path):
    done = typed(*words.split(), cwd=tmp_path)
    assert done.returncode == code
    assert said in (done.stderr if code else done.stdout)
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
