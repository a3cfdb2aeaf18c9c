"""The flags of run.py, and the settings of Hydra that are typed beside ours."""

import pytest

from bench.base.errors import UserError
from bench.config import flags
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
    ("line", "values"),
    [
        ("-m algo=dnasa,dsgt --cfg job", "--cfg=job.*algo=dnasa,dsgt"),
        ("--multirun --info seed=range(3)", "--info=all.*seed=range"),
        ("--experimental-rerun x", "--experimental-rerun"),
        ("--resolve", "--resolve.*--cfg=job"),
        ("--package algo", "--package=algo"),
        ("--cfg job --info", "--cfg=job.*--info=all"),
    ],
)
def test_rejects_flags_that_exclude_each_other(line, values):
    with pytest.raises(UserError, match=values):
        flags.read(line.split())


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("hydra.sweeper=optuna", "-m seed=0,1,2"),
        ("hydra/sweeper=optuna", "-m seed=0,1,2"),
        ("+hydra/sweeper=ax", "-m seed=0,1,2"),
        ("hydra.launcher=joblib", "bench/submit.py"),
        ("hydra/launcher=ray", "bench/submit.py"),
        ("hydra/launcher=slurm", "bench/submit.py"),
        ("hydra/launcher=submitit_slurm", "bench/submit.py"),
    ],
)
def test_rejects_other_sweepers_and_launchers(word, remedy):
    with pytest.raises(UserError) as caught:
        flags.refuse_plugins(["seed=0", word])
    assert word in str(caught.value)
    assert remedy in str(caught.value)


def test_accepts_hydras_own_sweeper_and_launcher():
    flags.refuse_plugins(["hydra/launcher=basic", "hydra/sweeper=basic", "seed=0"])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("-m steps=7 --cfg job nodes=4", 0, "nodes: 4\nsteps: 7\n"),
        ("--multirun --info", 0, "Installed Hydra Plugins"),
        ("--shell-completion", 2, "--shell-completion: "),
        ("=3", 2, "'=3'"),
        ("hydra=3", 2, "'hydra=3'"),
        ("-m hydra/launcher=submitit_slurm seed=0,1", 2, "bench/submit.py"),
        ("hydra.launcher.n_jobs=3", 2, "'hydra.launcher.n_jobs'"),
    ],
)
def test_reports_errors_of_hydra_without_a_traceback(words, code, said, tmp_path):
    done = typed(*words.split(), cwd=tmp_path)
    assert done.returncode == code
    assert said in (done.stderr if code else done.stdout)
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
