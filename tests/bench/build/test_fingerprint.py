"""Schedules and metrics of plug-ins in the fingerprint of a run."""

import ast
import functools
import gc
import importlib
import inspect
import sys
import sysconfig
import threading
from dataclasses import replace
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
import torch

from bench.base import evaluation, imported
from bench.base.errors import UserError
from bench.base.home import ROOT
from bench.base.registry import discover, metrics, schedules, topologies
from bench.build import source_files
from bench.build.fingerprint import RATES, combined, fingerprint, has_plugins, parts, sources
from bench.build.origin import disagreement, made_of
from bench.store import run_folder, stored_run
from bench.store.run_folder import RunFolder
from bench.store.software import differing
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
    discover()
    for registry in (schedules, metrics, topologies):
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
    assert not has_plugins(folder.config)
    plugin("strange_metric", METRIC)
    assert has_plugins(folder.config)
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


MAKERS = """
import networkx as nx

def jump(k):
    def graph(nodes: int) -> nx.Graph:
        return nx.circulant_graph(nodes, [k])
    return graph

def power(t, T, n, *, k):
    return T, (1 - t / T) ** k

def add_all(topology):
    topology("from a function")(jump(1))
"""
MADE = """
import functools
from bench.method import schedule
from bench.network.graphs import topology
from graph_makers import add_all, jump, power

topology("from a factory")(jump(1))
schedule("from a partial")(functools.partial(power, k=1))
add_all(topology)
"""


def test_the_file_that_registers_an_item_of_another_file_counts(plugin, tmp_path):
    (tmp_path / "graph_makers.py").write_text(MAKERS)
    plugin("registering", MADE)
    usual = config(algo="dsgd")
    scheduled = replace(usual, algo=replace(usual.algo, options={**usual.algo.options, "schedule": "from a partial"}))
    for mine in (config(topology="from a factory"), config(topology="from a function"), scheduled):
        assert {"registering.py", "graph_makers.py"} <= sources(mine).keys()
        assert has_plugins(mine)
    assert "registering.py" not in sources(config())


GRAPH = """
import networkx as nx
from bench.network.graphs import topology

@topology("of_two_plugins")
def graph(nodes: int) -> nx.Graph:
    return nx.GRAPH(nodes)
"""


def test_plugins_of_one_name_in_files_of_different_names_differ(plugin, monkeypatch):
    made, before = [], dict(topologies._items)
    for file, graph in (("first_graph", "cycle_graph"), ("second_graph", "complete_graph")):
        monkeypatch.setattr(topologies, "_items", dict(before))
        plugin(file, GRAPH.replace("GRAPH", graph))
        made.append(("dsgd", {"sources": parts(config(topology="of_two_plugins"))}))
    assert differing(made) == ["topology/of_two_plugins"]
    assert not any(name.startswith(("topology/", "algorithm/")) for name in parts(config()))


def test_metrics_of_one_name_in_files_of_different_names_differ(plugin, monkeypatch, tmp_path):
    made, before, folder = [], dict(metrics._items), RunFolder(config(results=str(tmp_path)))
    for file in ("first_metric", "second_metric"):
        monkeypatch.setattr(metrics, "_items", dict(before))
        plugin(file, METRIC)
        made.append(("dsgd", {"sources": parts(config())}))
    assert differing(made) == ["metric/strange"]
    now = {"fingerprint": fingerprint(folder.config)}
    for (_, manifest), changed in zip(made, (True, False), strict=True):
        monkeypatch.setattr(folder, "manifest", lambda manifest=manifest: {**manifest, **now})
        assert (stale(folder) is not None) == changed


def test_files_of_one_name_in_folders_without_init_all_count(plugin, tmp_path, monkeypatch):
    files = [tmp_path / folder / "method.py" for folder in ("lab1", "lab2")]
    for file in files:
        file.parent.mkdir()
        file.write_text("K = 1\n")
    plugin("both_labs", METRIC.replace("import metrics_helper", "import lab1.method\nfrom lab2.method import K"))
    seen = {sources(config())["method.py"]}
    for file in files:
        edited(monkeypatch, file)
        seen.add(sources(config())["method.py"])
    files[0].write_text("K = 3\n")
    files[1].write_text("K = 4\n")
    monkeypatch.setattr(imported, "_outside", {})
    seen.add(sources(config())["method.py"])
    files[0].write_text("K = 4\n")
    files[1].write_text("K = 3\n")
    monkeypatch.setattr(imported, "_outside", {})
    seen.add(sources(config())["method.py"])
    assert len(seen) == 5


def test_the_rates_of_the_nodes_count_for_runs_with_a_network():
    """``seconds`` and other metrics of time need them, whatever the method."""
    rates = {file.relative_to(ROOT).as_posix() for file in RATES}
    assert rates <= sources(config(**{"network": {"name": "lan"}})).keys()
    assert not rates & sources(config()).keys()


def test_a_file_copied_over_another_changes_the_fingerprint():
    assert combined({"a.py": "1", "b.py": "2", "used.py": "1"}) != combined({"a.py": "1", "b.py": "2", "used.py": "2"})
    assert combined({"a.py": "1", "b.py": "2"}) != combined({"a.py": "2", "b.py": "1"})
    assert combined({"a.py": "1", "b.py": "2"}) == combined({"b.py": "2", "a.py": "1"})


LATE = METRIC.replace("import metrics_helper\n", "").replace("    return", "    import metrics_late\n    return")


def test_a_file_is_hashed_again_until_it_is_imported(plugin, tmp_path, monkeypatch):
    """A function that imports takes the file as it is then, and keeps it."""
    helper = tmp_path / "metrics_late.py"
    helper.write_text("SCALE = 1.0\n")
    file = plugin("late_metric", LATE)
    seen = [made_of([config()])["files"]]
    for scale in (0.1, 0.01):
        helper.write_text(f"SCALE = {scale}\n")
        seen.append(made_of([config()])["files"])
    importlib.invalidate_caches()
    monkeypatch.setitem(sys.modules, "metrics_late", importlib.import_module("metrics_late"))
    helper.write_text("SCALE = 5.0\n")
    file.write_text(LATE + "# edited")
    assert made_of([config()])["files"] == seen[-1]
    assert len({files["metrics_late.py"] for files in seen}) == 3
    assert len({files["late_metric.py"] for files in seen}) == 1


def test_files_are_parsed_while_another_thread_parses():
    """As ``numpy.load`` does in each thread of ``jobs=2``; the collector's callback stands for a finalizer."""

    def another(phase, _):
        if phase == "start":
            thread = threading.Thread(target=ast.literal_eval, args=("{'shape': (3, 4)}",))
            thread.start(), thread.join()

    usual = gc.get_threshold()
    gc.callbacks.append(another)
    gc.set_threshold(50)  # else the collector may not run while a file of this size is parsed
    try:
        assert all([*source_files._imports(ROOT / "bench/config/plan.py")] for _ in range(3))
    finally:
        gc.set_threshold(*usual)
        gc.callbacks.remove(another)
    assert gc.isenabled()


@pytest.mark.parametrize("folder", ["my", "results/cells"])
def test_files_in_the_folder_of_the_suite_count_also_for_folders_without_init(folder, tmp_path, monkeypatch):
    """As for a plug-in in a folder of the clone, and for a cell of a notebook that was started there."""
    source_files.core()  # remembered for all tests, hence with the true folder
    monkeypatch.setattr(source_files, "ROOT", tmp_path)
    source_files._loose_folders.cache_clear()
    files = {f"{folder}/method.py": "from my.helpers import gain\nimport beside\nfrom pk import *\n"}
    files |= {"my/helpers.py": "gain = 1\n", f"{folder}/beside.py": "", "beside.py": ""}
    files |= {"pk/__init__.py": "__all__ = ['star']\n", "pk/star.py": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = source_files.with_imports.__wrapped__(tmp_path / folder / "method.py")
    source_files._loose_folders.cache_clear()
    assert {file.relative_to(tmp_path).as_posix() for file in found} == set(files)


def test_every_entry_of_the_core_is_a_file_or_a_folder_with_files():
    for name in source_files.CORE:
        place = ROOT / name
        assert place.is_file() or any(place.rglob("*.py")), name


@pytest.mark.parametrize("function", [run_folder.final_state, evaluation.rose, stored_run.evaluation_steps])
def test_what_decides_the_state_and_the_evaluations_of_a_run_counts(function):
    assert inspect.getsourcefile(function) in map(str, source_files.core())
    assert evaluation.rose.__defaults__ == (evaluation.DIVERGING_FROM,)


@pytest.mark.parametrize("wrap", [lambda name: name, lambda name: [name], lambda name: {"a": {"b": [1, name]}}])
def test_the_files_of_a_model_target_and_of_its_arguments_count(wrap, tmp_path, monkeypatch):
    """The target may only name a class of another file, and an argument may be a file of weights."""
    (tmp_path / "holding_nets.py").write_text(NET)
    (tmp_path / "naming_nets.py").write_text(
        "from functools import partial\nfrom holding_nets import Net\nSmall = partial(Net)\n"
    )
    (tmp_path / "weights.pt").write_bytes(b"1")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("holding_nets", "naming_nets"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    options = {"target": "naming_nets:Small", "kwargs": {"weights": wrap(str(tmp_path / "weights.pt"))}}
    run = config(model={"name": "module", **options})
    before = fingerprint(run)
    assert {"holding_nets.py", "naming_nets.py", "weights.pt"} <= set(sources(run))
    (tmp_path / "weights.pt").write_bytes(b"2")
    assert fingerprint(run) != before


def test_the_files_of_a_folder_that_a_model_reads_count(tmp_path, monkeypatch):
    (tmp_path / "nets_with_a_folder.py").write_text(NET)
    folder = tmp_path / "parts" / "deep"
    folder.mkdir(parents=True)
    (folder / "a.npy").write_bytes(b"1")
    monkeypatch.syspath_prepend(tmp_path)
    options = {"target": "nets_with_a_folder:Net", "kwargs": {"weights": str(tmp_path / "parts")}}
    run = config(model={"name": "module", **options})
    before = fingerprint(run)
    for change in (lambda: (folder / "a.npy").write_bytes(b"2"), lambda: (folder / "b.npy").write_bytes(b"1")):
        change()
        assert fingerprint(run) != before
        before = fingerprint(run)
    (folder / "b.npy").unlink()
    (folder / "b.npy").symlink_to("/proc/self/pagemap")  # a file of the system, of petabytes
    fingerprint(run)
    monkeypatch.setattr("bench.models.target.MOST", 1)
    with pytest.raises(UserError, match=r"model\.kwargs.*parts.* 1 files"):
        fingerprint(run)


NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self, inputs, classes, weights):
        super().__init__()
        self.layer = torch.nn.Linear(64, classes)

    def forward(self, x):
        return self.layer(x.flatten(1))
"""


@pytest.mark.parametrize("suffix", [".so", *EXTENSION_SUFFIXES])
def test_compiled_modules_count(suffix, tmp_path):
    (tmp_path / "method.py").write_text("import fast\n")
    (tmp_path / f"fast{suffix}").write_bytes(b"\x7fELF")
    found = source_files.with_imports.__wrapped__(tmp_path / "method.py")
    assert found == {tmp_path / "method.py", tmp_path / f"fast{suffix}"}


def test_files_that_python_cannot_parse_or_read_have_no_imports(tmp_path, monkeypatch):
    """Another folder of sys.path may hold a file of the same name that is never imported."""
    (tmp_path / "old").mkdir()
    (tmp_path / "method.py").write_text("import utils\nfrom old import *\n")
    (tmp_path / "utils.py").write_text("")
    bad = {"utils.py": b"print 1", "__init__.py": b"", "zero.py": b"\0", "latin.py": b"\xe9 = 1", "secret.py": b""}
    bad |= {"deep.py": b"1" + 100_000 * b"+1", "large.py": b"import unseen\n" * 100_000}
    (tmp_path / "unseen.py").write_text("")
    monkeypatch.setattr(source_files, "LARGEST", 1_000_000)
    for name, text in bad.items():
        (tmp_path / "old" / name).write_bytes(text)
    monkeypatch.syspath_prepend(tmp_path / "old")
    hidden, opens = tmp_path / "none", Path.open
    monkeypatch.setattr(Path, "open", lambda file, how: opens(hidden if file.name == "secret.py" else file, how))
    found = source_files.with_imports.__wrapped__(tmp_path / "method.py")
    assert found == {tmp_path / "method.py", tmp_path / "utils.py", *(tmp_path / "old" / name for name in bad)}


@pytest.mark.parametrize("name", ["analysis.figures", "reproduction.register", "tests.helpers.configs"])
def test_code_that_computes_no_results_does_not_count(name, tmp_path):
    (tmp_path / "method.py").write_text(f"import {name}\n")
    assert source_files.with_imports.__wrapped__(tmp_path / "method.py") == {tmp_path / "method.py"}


def test_the_standard_library_does_not_count_behind_a_link(tmp_path, monkeypatch):
    (tmp_path / "python" / "lib-dynload").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "python")
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path / "link")})
    path = [str(tmp_path / part) for part in ("link", "link/lib-dynload", "python", "python/lib-dynload")]
    assert source_files._loose_folders.__wrapped__((*path, str(tmp_path))) == [ROOT, tmp_path]
