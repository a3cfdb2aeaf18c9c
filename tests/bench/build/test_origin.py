"""Checks that ranks have the software and the files of the command."""

import copy
import re

import pytest
import torch

from bench.base.errors import UserError
from bench.base.registry import metrics
from bench.build import network
from bench.build.origin import disagreement, made_of
from bench.training.metrics import Metric
from tests.helpers.configs import config


@pytest.mark.parametrize("name", ["torch", "numpy"])
def test_another_version_of_a_library_is_reported_with_both_versions(name):
    meant = made_of([config()])
    reported = copy.deepcopy(meant)
    assert disagreement(reported, meant, "rank 1 on h2") is None
    reported["libraries"][name] = "2.2.0"
    message = disagreement(reported, meant, "rank 1 on h2")
    for part in ("rank 1 on h2", f"{name} 2.2.0", f"{name} {meant['libraries'][name]}"):
        assert part in message


@pytest.mark.parametrize("has_it", ["rank", "command"])
def test_a_metric_of_a_plug_in_that_only_one_process_has_is_reported_with_its_file(has_it, monkeypatch, tmp_path):
    without = made_of([config()])
    (tmp_path / "mine.py").write_text("")
    monkeypatch.setitem(metrics._items, "mine", Metric("mine", None, torch.numel))
    monkeypatch.setitem(metrics._files, "mine", tmp_path / "mine.py")
    having = made_of([config()])
    reported, meant = (having, without) if has_it == "rank" else (without, having)
    message = disagreement(reported, meant, "rank 1 on h2")
    assert message is not None
    for part in ("rank 1 on h2", "mine.py"):
        assert part in message


RING, PATH, COMMENT = "0 1\n1 2\n2 3\n3 0\n", "0 1\n1 2\n2 3\n", "0 1\n1 2\n2 3\n3 0 # the last\n"
EVEN = "0.25 0.25 0.25 0.25\n" * 4
LAZY = "0.7 0.1 0.1 0.1\n0.1 0.7 0.1 0.1\n0.1 0.1 0.7 0.1\n0.1 0.1 0.1 0.7\n"


@pytest.mark.parametrize(
    ("topology", "before", "after"),
    [("edges", RING, PATH), ("edges", RING, COMMENT), ("matrix", EVEN, LAZY)],
    ids=["edges", "comment", "matrix"],
)
@pytest.mark.parametrize("forgotten", [False, True])
def test_a_file_of_the_network_that_is_edited_during_a_sweep_is_reported(topology, before, after, forgotten, tmp_path):
    """Also if the runner has built so many networks that it has to read the file again (``forgotten``)."""
    file = tmp_path / "network.csv"
    file.write_text(before)
    network._mixing.cache_clear()
    ours, theirs = (config(topology={"name": topology, "file": str(file)}, nodes=4) for _ in range(2))
    meant = made_of([ours])
    assert disagreement(made_of([theirs]), meant, "rank 1") is None
    file.write_text(after)
    network._mixing.cache_clear()  # a rank has its own
    later = config(topology={"name": topology, "file": str(file)}, nodes=4)
    reported = made_of([later])
    if forgotten:
        with pytest.raises(UserError, match=re.escape(f"topology.file={file}")):
            made_of([ours])
    message = disagreement(reported, meant, "rank 1")
    assert message is not None
    assert f"topology.file={file}" in message


def test_another_network_without_a_file_is_reported():
    meant = made_of([config(), config(seed=1)])
    message = disagreement({**meant, "networks": [meant["networks"][0], "0" * 16]}, meant, "rank 1")
    assert message is not None
    assert "mixing matrix" in message


def test_other_shards_are_reported():
    meant = made_of([config(dataset="digits", partition="iid", seed=seed) for seed in (0, 1)])
    other = made_of([config(dataset="digits", partition="iid", seed=seed) for seed in (0, 2)])
    message = disagreement({**meant, "shards": other["shards"]}, meant, "rank 1")
    assert message is not None
    assert "partition" in message
    assert meant["shards"][0] == other["shards"][0]


@pytest.mark.parametrize("part", [0, 1, 2])
def test_another_start_or_constant_is_reported_unless_rounding_explains_it(part):
    """The parts are the trainable parameters, the frozen parameter and the buffer of a module."""
    meant = made_of([config(dataset="digits", model={"name": "module", "target": "tests.helpers.nets:Net"})])
    for change, is_reported in ((1e-9, False), (1e-3, True)):
        reported = copy.deepcopy(meant)
        reported["starts"][0][part][1] += change * meant["starts"][0][part][0]
        assert (disagreement(reported, meant, "rank 1") is not None) == is_reported
    assert disagreement({**meant, "starts": [meant["starts"][0][:part]]}, meant, "rank 1") is not None


def test_a_start_depends_on_the_seed():
    one, other = made_of([config(dataset="digits", seed=seed) for seed in (0, 1)])["starts"]
    assert one != other
    assert made_of([config(dataset="quadratics")])["starts"] == [None]
