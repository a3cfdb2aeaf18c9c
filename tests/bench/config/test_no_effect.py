"""Settings that would have no effect are rejected, and references use the values of their own run."""

import pytest

from bench.base.errors import UserError
from bench.config.plan import of_command


@pytest.fixture
def search(tmp_path):
    """Return a function that writes files of a user's folder, and the word that adds the folder."""

    def write(**files):
        for name, text in files.items():
            file = tmp_path / f"{name.replace('__', '/')}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return f"hydra.searchpath=[file://{tmp_path}]"

    return write


@pytest.mark.parametrize("value", ["3", "${nodes}", "${oc.env:NOWHERE,3}"])
def test_rejects_settings_outside_a_global_experiment(value, search):
    outside = "# @package _global_\nsteps: 7\nalgo: {eta: 0.5}\n"
    word = search(experiment__mine=f"{outside}experiment:\n  blocks: [{{algo: dsgt, seed: '{value}'}}]\n")
    with pytest.raises(UserError, match=r"experiment=mine.*'algo', 'steps'"):
        of_command(["experiment=mine", word, "nodes=5"])
