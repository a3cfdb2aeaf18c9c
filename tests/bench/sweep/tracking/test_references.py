"""W&B opens the addresses of artifacts in a config with the user's key; hearsay gives it none."""

import pytest

from bench.store.files import read_json, write_json
from bench.store.integrity import Damaged
from bench.sweep.sweep import run_all
from bench.sweep.tracking.wandb_run import WandbMirror, _refuse_references
from tests.helpers.claims import QUIET
from tests.helpers.configs import config
from tests.helpers.run_folders import folders


@pytest.mark.parametrize(
    "config",
    [
        {"note": "wandb-artifact://http://127.0.0.1:1/e/p/a:v0"},
        {"sweep": "WANDB-client-artifact://id"},
        {"certificate": {"parts": [{"a": "wandb-artifact://x"}]}},
        {"algorithm": {"_type": "artifactVersion", "id": "QQ=="}},
        {"_wandb": {"value": 1}},
    ],
)
def test_a_run_with_a_reference_of_wandb_is_refused(config):
    with pytest.raises(Damaged, match="W&B"):
        _refuse_references({"algo": "dsgd", **config})


def test_usual_configs_are_accepted():
    _refuse_references({"algo": "dsgd", "edges": [[0, 1]], "certificate": {"nodes": 4}, "eta": 0.1, "sweep": None})


@pytest.mark.parametrize(("file", "name"), [("summary.json", "model"), ("manifest.json", "sweep")])
def test_wandb_does_not_see_a_run_with_a_reference(file, name, tmp_path, monkeypatch):
    run_all([config(results=str(tmp_path), steps=2, eval_every=1)], QUIET)
    (folder,) = folders(tmp_path)
    write_json(folder / file, {**read_json(folder / file), name: "wandb-artifact://http://127.0.0.1:1/e/p/a:v0"})
    monkeypatch.setattr("wandb.init", lambda **_: pytest.fail("W&B was called"))
    with pytest.raises(Damaged, match="artifact"):
        WandbMirror(folder, "hearsay", None)
