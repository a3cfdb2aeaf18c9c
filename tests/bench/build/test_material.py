"""The data of runs, which all runs of a process share."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from bench.base.errors import UserError
from bench.base.registry import datasets, losses
from bench.build.manifest import describe
from bench.build.material import _load, load_arrays, loss_of
from bench.build.origin import disagreement, made_of
from bench.build.probe import new_summary
from bench.config.choices import options_of
from bench.problem.arrays import Arrays
from bench.problem.losses import CrossEntropy
from bench.problem.rows import on_device
from bench.store.kinds import MANIFEST, odd
from bench.store.run_folder import RunFolder
from bench.store.software import differing
from bench.sweep.resume import stale
from tests.helpers.configs import config


class Clips(CrossEntropy):
    def __init__(self, arrays):
        super().__init__(arrays)
        np.clip(arrays.train_x, 4, 6, out=arrays.train_x)


class Merges(CrossEntropy):
    """Changes the targets that it receives."""

    def each(self, out, y):
        return super().each(out, y.clamp_(max=1))

    def delta(self, out, y, weight):
        return super().delta(out, y.clamp_(max=1), weight)


def points():
    g = np.random.default_rng(0)
    x, y = g.standard_normal((60, 2)), np.arange(60) % 3
    return Arrays(x[:40], y[:40], x[40:], y[40:], classes=3)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(losses._items, "clips", Clips)
    monkeypatch.setitem(losses._items, "merges", Merges)
    monkeypatch.setitem(datasets._items, "points", points)
    for cache in (options_of, _load):
        cache.cache_clear()
    yield
    for cache in (options_of, _load):
        cache.cache_clear()


def contents(c):
    arrays = load_arrays(c)
    return [getattr(arrays, part).copy() for part in ("train_x", "train_y", "test_x", "test_y")]


def test_rejects_a_loss_that_changes_the_data_in_place():
    c = config(dataset="points", loss={"name": "clips"}, steps=2)
    before = contents(c)
    with pytest.raises(UserError, match="loss=clips"):
        loss_of(c)
    assert all(map(np.array_equal, contents(c), before))


def test_a_loss_that_changes_its_targets_changes_no_data_of_other_runs():
    c = config(dataset="points", loss={"name": "merges"}, steps=2, eval_every=1)
    before = contents(c)
    assert new_summary(c)
    assert all(map(np.array_equal, contents(c), before))


def test_a_model_that_changes_its_inputs_changes_no_data_of_other_runs():
    for kind, shared in ((np.float64, False), (np.uint8, True)):  # bytes are converted before a model receives them
        inputs = np.ones((3, 2), dtype=kind)
        on_device(inputs, torch.device("cpu"), torch.float64).zero_()
        assert (inputs == 0).all() == shared


def test_data_with_another_mean_are_other_data(tmp_path, monkeypatch):
    folder = RunFolder(config(dataset="points", results=str(tmp_path)))
    before, origin = json.loads(json.dumps(describe(folder.config))), made_of([folder.config])
    assert odd(before, MANIFEST) is None
    monkeypatch.setattr(folder, "manifest", lambda: before)
    assert stale(folder) is None
    monkeypatch.setitem(datasets._items, "points", lambda: replace(points(), mean=5.0))
    _load.cache_clear()  # another process
    assert stale(folder) is not None
    assert disagreement(made_of([folder.config]), origin, "rank 1") is not None
    assert [*differing(("dnasa", made) for made in (before, describe(folder.config)))] == ["attributes/points"]
    del before["data"]["attributes"]  # a run of an earlier version
    assert stale(folder) is None
