"""W&B opens the addresses of artifacts in a config with the user's key; hearsay gives it none."""

import pytest

from bench.store.integrity import Damaged
from bench.sweep.tracking.wandb_run import _refuse_references


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
