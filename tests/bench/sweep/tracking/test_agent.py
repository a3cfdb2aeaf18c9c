"""The parameters of `wandb agent` are those of the run, or the command is rejected."""

import pytest
import yaml

from bench.base.account import OF_AGENT, ignored
from bench.base.errors import UserError
from bench.sweep.sweep import about_wandb
from bench.sweep.tracking.agent import parameters
from tests.bench.sweep.tracking.test_variables import WORDS
from tests.bench.sweep.tracking.test_wandb import AGENTS, command
from tests.helpers.configs import config
from tests.helpers.run_folders import folders
from tests.helpers.wandb_files import images


def written(folder, **values):
    """The variables of an agent that chose these values, and their file."""
    file = folder / "config-trial1.yaml"
    file.write_text(yaml.safe_dump({"wandb_version": 1, **{name: {"value": value} for name, value in values.items()}}))
    return {**AGENTS, "WANDB_SWEEP_PARAM_PATH": str(file)}


@pytest.fixture
def agent(tmp_path, monkeypatch):
    def start(**values):
        monkeypatch.delenv("WANDB_MODE", raising=False)
        for name, value in written(tmp_path, **values).items():
            monkeypatch.setenv(name, value)

    return start


RUN = {"algo": {"name": "dsgd", "eta": 0.1}, "seed": 0, "tracker": "wandb"}


@pytest.mark.parametrize(
    ("name", "value", "actual"),
    [
        ("seed", 7, "seed=0"),
        ("seed", True, "seed=0"),
        ("algo", "dsgt", "algo=dsgd"),
        ("algo.eta", 0.2, "algo.eta=0.1"),
        ("algo.eta", "1e-2", "algo.eta=0.1"),
        ("algo", {"eta": 0.2}, "algo.eta=0.1"),
        ("eta", 0.2, "eta=0.1"),
        ("topology.file", "a.txt", "topology.file"),
        ("data_dir", "there", "data_dir=null"),
        ("run_id", "mine", "run_id=dsgd-"),
    ],
)
def test_rejects_a_run_with_other_values_than_the_agent_chose(agent, name, value, actual):
    agent(**{name: value})
    with pytest.raises(UserError, match=r"args_no_hyphens") as error:
        about_wandb([config(**RUN)])
    assert actual in str(error.value)
    assert str(value["eta"] if isinstance(value, dict) else value) in str(error.value)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"seed": 0, "algo": "dsgd", "algo.eta": 0.1, "topology": "ring", "nodes": 6.0, "force": False},
        {"algo.eta": "1e-1", "seed": "0", "data_dir": None, "eta": 0.1},
        {"algo": {"eta": 0.1}, "stretch": 1, "of_a_wrapper": 3},
    ],
)
def test_accepts_the_values_that_the_run_has(agent, values):
    agent(**values)
    about_wandb([config(**RUN)])
    assert "WANDB_SWEEP_PARAM_PATH" in ignored(alone=True)


@pytest.mark.parametrize("text", ["- 1", "seed: 7", "seed: [", "seed: !!python/object/apply:os.getcwd []"])
def test_rejects_a_file_that_no_agent_wrote(agent, tmp_path, text):
    agent()
    (tmp_path / "config-trial1.yaml").write_text(text)
    with pytest.raises(UserError, match="WANDB_SWEEP_PARAM_PATH"):
        parameters()


def test_labels_of_the_run_are_kept_under_an_agent(tmp_path):
    words = (*WORDS, "tracker=wandb")
    done = command("bench/run.py", *words, cwd=tmp_path, **written(tmp_path, seed=7))
    assert (done.returncode, "seed=7" in done.stderr) == (2, True), done.stderr
    assert not list(tmp_path.glob("results/runs/*"))
    chosen = {"seed": 3, "scale": 1, "fingerprint": "theirs", "of_a_wrapper": 5}
    done = command("bench/run.py", *words, "seed=3", cwd=tmp_path, **written(tmp_path, **chosen))
    assert done.returncode == 0, done.stderr
    (run,), (image,) = folders(tmp_path / "results"), images(tmp_path / "results").values()
    kept = image.config
    assert (kept["run_id"], kept["seed"], kept["of_a_wrapper"], image.run.sweep_id) == (run.name, 3, 5, "sweep1")
    assert kept["fingerprint"] != "theirs"
    assert kept[OF_AGENT] == ["of_a_wrapper"]
