"""Schedules and metrics of plug-ins in the fingerprint of a run."""

import functools
import importlib
from dataclasses import replace

import pytest
import torch

from bench.base import imported
from bench.base.registry import metrics, schedules
from bench.build.fingerprint import fingerprint, parts, sources
from bench.build.origin import disagreement, made_of
from bench.store.run_folder import RunFolder
from bench.sweep.resume import stale
from bench.training.metrics import metric
from tests.helpers.configs import config

SCHEDULE = """
from bench.method import schedule

@schedule("strange")
def strange(t, T, n):
    return T, 1.0
"""
METRIC = """
from bench.training.metrics import metric
import metrics_helper

@metric("strange")
def strange(view):
    return view.train_loss
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Import a module from these texts; forget it afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    for registry in (schedules, metrics):
        monkeypatch.setattr(registry, "_items", dict(registry._items))

    def load(name, text):
        (tmp_path / "metrics_helper.py").write_text("")
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        importlib.import_module(name)
        return tmp_path / f"{name}.py"

    return load


def edited(monkeypatch, file):
    """Edit a file, as seen by a process that starts afterwards."""
    file.write_text(file.read_text() + "# edited\n")
    monkeypatch.setattr(imported, "_outside", {})


def test_an_edited_schedule_changes_the_fingerprint(plugin, monkeypatch):
    usual = config(algo="dsgd")
    before = fingerprint(usual)
    file = plugin("strange_schedule", SCHEDULE)
    mine = replace(usual, algo=replace(usual.algo, options={**usual.algo.options, "schedule": "strange"}))
    made = fingerprint(mine)
    assert "strange_schedule.py" in parts(mine)
    edited(monkeypatch, file)
    assert fingerprint(mine) != made
    assert fingerprint(usual) == before


def test_an_edited_metric_makes_runs_stale_and_a_new_one_does_not(plugin, monkeypatch, tmp_path):
    folder = RunFolder(config(results=str(tmp_path)))
    without = {"fingerprint": fingerprint(folder.config), "sources": parts(folder.config)}
    plugin("strange_metric", METRIC)
    assert {"strange_metric.py", "metrics_helper.py"} <= sources(folder.config).keys()
    measured = {"fingerprint": fingerprint(folder.config), "sources": parts(folder.config)}
    meant = made_of([folder.config])
    for manifest in (without, measured):
        monkeypatch.setattr(folder, "manifest", lambda manifest=manifest: manifest)
        assert stale(folder) is None
    edited(monkeypatch, tmp_path / "metrics_helper.py")
    assert stale(folder) is not None
    assert "metrics_helper.py" in disagreement(made_of([folder.config]), meant, "rank 1")
    monkeypatch.setattr(folder, "manifest", lambda: without)
    assert stale(folder) is None


@pytest.mark.usefixtures("plugin")
def test_a_metric_may_be_any_callable():
    class Constant:
        def __call__(self, view):
            return view.train_loss

    metric("constant")(Constant())
    metric("partial")(functools.partial(lambda view, power: view.train_loss**power, power=2))
    metric("builtin")(torch.linalg.norm)
    assert "tests/bench/build/test_fingerprint.py" in sources(config())


DECORATED = """
import functools
import torch
from bench.method import schedule
from bench.training.metrics import metric

@metric("quiet")
@torch.no_grad()
def quiet(view):
    return view.train_loss

@schedule("strange")
@functools.cache
def strange(t, T, n):
    return T, 1.0
"""


def test_finds_the_files_of_decorated_functions(plugin):
    plugin("decorated", DECORATED)
    usual = config(algo="dsgd")
    mine = replace(usual, algo=replace(usual.algo, options={**usual.algo.options, "schedule": "strange"}))
    assert "decorated.py" in parts(mine)
    assert "decorated.py" in sources(usual)
    assert not any("site-packages" in name for name in sources(mine))


def test_includes_imports_from_other_folders(plugin, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "metrics_library.py").write_text("factor = 1.0\n")
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    plugin("distant_metric", METRIC.replace("metrics_helper", "metrics_library"))
    assert {"distant_metric.py", "metrics_library.py"} <= sources(config()).keys()
