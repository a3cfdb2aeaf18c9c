"""Files of a board that somebody else has written: every wrong value is a sentence with its place."""

import copy
import math

import pytest
import yaml

from bench.base.board import BOARD
from bench.base.board_file import read
from bench.base.board_kinds import BOARD as FORM
from bench.base.board_kinds import SEALED, fault
from bench.base.errors import UserError

RAW = yaml.safe_load((BOARD / "board.yaml").read_text("utf-8"))
WRONG = [
    ("comparisons", math.inf),
    ("evaluations", 0),
    ("evaluations", True),
    ("targets", math.inf),
    ("targets", [8]),
    ("grid.follow", []),
    ("grid.length", [0.1, -1]),
    ("grid.extensions", None),
    ("pilot", None),
    ("pilot.budget", 0),
    ("seeds", {}),
    ("seeds.tune", [0, -1]),
    ("prices.latency.latency", math.nan),
    ("prices.latency.bandwidth", 0),
    ("networks", [1]),
    ("workloads", []),
    ("workloads.D1", "D1"),
    ("workloads.D1.budget", 1e400),
    ("workloads.D1.set", {1: 2}),
    ("workloads.D1.set", {"dataset": "../../elsewhere"}),
    ("workloads.D1.set", {"dataset": "quadratics", "results": "elsewhere"}),
    ("workloads.D1.set", {"dataset": "quadratics", "network": "../../network.yaml"}),
    ("workloads.D1.set", {"dataset": {"name": "file", "file": "secret.csv"}}),
    ("workloads.D1.set", {"dataset": "file", "dataset.path": "private.csv"}),
    ("workloads.D1.set", {"dataset": "quadratics", "topology": "edges", "topology.file": "private.txt"}),
    ("common", {"tracker": "wandb"}),
    ("common", {"tracker": "none", "tracker.entity": "mallory"}),
    ("common", {"eval_spacing": "log"}),
    ("common", {"tracker": "none", "eval_spacing": "${oc.env:HOME}"}),
    ("common", {"engine.launch": ["sh", "-c", "true"]}),
    ("common", {"tracker": "none", "results": "elsewhere"}),
    ("networks", ["/etc/networks"]),
    ("networks", ["mine.yaml"]),
    ("entrants.dsgd", {"stepsize": "eta", "set": {"hydra.searchpath": "elsewhere"}}),
    ("workloads.I1.seeds", {"tuned": [1]}),
    ("entrants.dsgd", None),
    ("entrants.dsgd", {"grid": "follow"}),
    ("entrants.dsgd", {"stepsize": 3}),
    ("entrants.dsgd", {"stepsize": "eta", "native": [1]}),
    ("entrants.dsgd", {"stepsize": "eta", "grid": "other"}),
    ("entrants.dsgd", {"stepsize": "eta", "typo": 1}),
    ("bounds.pooled_adam", {"stepsize": "eta", "method": ["adam"]}),
    ("dev.V1.set", {"topology": "ring"}),
    ("side.lossy.set", None),
    ("hidden.factor", "three"),
    ("hidden.workloads", ["D9"]),
    ("sealed.spread", [1]),
    ("sealed.noise", [1, 0.1]),
    ("quick.seeds.report", "all"),
    ("milliseconds.D1", -1),
    ("typo", 1),
]


def changed(key, value):
    raw = copy.deepcopy(RAW)
    *above, last = key.split(".")
    part = raw
    for name in above:
        part = part[name]
    part[last] = value
    return raw


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_wrong_value_is_named(key, value, tmp_path):
    (tmp_path / "board.yaml").write_text(yaml.safe_dump(changed(key, value)))
    with pytest.raises(UserError, match=rf"board\.yaml: .*{key}") as error:
        read(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "key", [*RAW, "grid.follow", "workloads.D1.stratum", "side.lossy.base", "prices.latency.gradient"]
)
def test_a_missing_value_is_named(key, tmp_path):
    raw = changed(key, None)
    *above, last = key.split(".")
    part = raw
    for name in above:
        part = part[name]
    del part[last]
    (tmp_path / "board.yaml").write_text(yaml.safe_dump(raw))
    if key == "quick":
        assert read(tmp_path).targets == 8
    else:
        with pytest.raises(UserError, match=rf"board\.yaml: {key} is missing"):
            read(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "[]", "1", "a: [", "*a", "- " * 3000, "version: 1\nversion: 2", "a: &a [*a]", "workloads: {}"]
)
def test_a_file_that_is_no_board_is_named(text, tmp_path):
    (tmp_path / "board.yaml").write_text(text)
    with pytest.raises(UserError, match=r"board\.yaml"):
        read(tmp_path)


@pytest.mark.parametrize("size", ["full", "quick"])
def test_the_board_of_the_repository_is_right(size):
    assert read(size=size).number == "1"


def test_a_board_that_is_a_link_is_not_read(tmp_path):
    (tmp_path / "board.yaml").symlink_to(BOARD / "board.yaml")
    with pytest.raises(UserError, match="is a link"):
        read(tmp_path)


def test_a_name_cannot_add_a_line():
    for wrong in (
        fault(changed("workloads", {"D1\nDone.": RAW["workloads"]["D1"]}), FORM),
        fault({"version": "a", "workloads": {"Z\n": {}}}, SEALED),
    ):
        assert wrong is not None
        assert "workloads has the name" in wrong
        assert "\n" not in wrong
