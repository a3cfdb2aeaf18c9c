"""Methods of notebook cells: the modules that other processes import."""

import linecache
import os
import sys
from types import ModuleType, SimpleNamespace

import pytest

from bench.base import registry as registries
from bench.base.cells import FOLDERS
from bench.base.errors import UserError
from bench.base.registry import MODULES, Registry
from bench.network.cache import compute_once
from hearsay import plugins

METHOD = "@registry.register('mine')\nclass Mine:\n    def step(self):\n        return FACTOR * GAIN['a']"
SETUP = "from tests.hearsay.test_publish import registry\nGAIN = {'a': 1.0}\nFACTOR = 1.0"
registry: Registry[type] = Registry("kind")
registries._registries.remove(registry)


class Notebook:
    """Executes cells as IPython does: statements before an error count."""

    def __init__(self, folder):
        self.folder = folder
        self.main = ModuleType("__main__")
        shell = SimpleNamespace(transform_cell=lambda cell: cell)
        vars(self.main).update(In=[""], get_ipython=lambda: shell)

    def run(self, *cells):
        for cell in cells:
            self.main.In.append(cell)
            name = f"<cell {len(self.main.In)}>"
            linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
            try:
                exec(compile(cell, name, "exec"), vars(self.main))
            except ZeroDivisionError:
                return

    def sweep(self, folder="results"):
        """Return what the runs of a sweep would compute."""
        plugins.register_cells(self.folder / folder, ["algo=mine"])
        assert os.environ[MODULES] == registry["mine"].__module__
        return registry["mine"]().step()


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    found = Notebook(tmp_path)
    monkeypatch.setattr(registries, "_registries", [registry])
    for name in ("_items", "_files", "cells"):
        monkeypatch.setattr(registry, name, {})
    monkeypatch.setattr(plugins, "_published", {})
    monkeypatch.setitem(sys.modules, "__main__", found.main)
    monkeypatch.setenv(MODULES, "")
    monkeypatch.setenv(FOLDERS, "")
    found.run(SETUP, METHOD)
    return found


def test_the_folder_of_cells_is_on_no_path_of_python(notebook, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "before")
    before = list(sys.path)
    assert notebook.sweep() == 1.0
    assert (os.environ["PYTHONPATH"], sys.path) == ("before", before)
    assert os.environ[FOLDERS] == str(notebook.folder / "results/cells")


@pytest.mark.parametrize("link", [False, True])
def test_a_file_with_other_content_is_replaced(notebook, link):
    notebook.sweep()
    (file,) = (notebook.folder / "results/cells").iterdir()
    text = file.read_text()
    file.unlink()
    other = notebook.folder / "other.py"
    other.write_text("raise SystemExit")
    file.symlink_to(other) if link else file.write_text(other.read_text())
    notebook.run(METHOD)
    assert notebook.sweep() == 1.0
    assert (file.is_symlink(), file.read_text(), other.read_text()) == (False, text, "raise SystemExit")


@pytest.mark.parametrize("name", ["sitecustomize.py", "torch", "__init__.py"])
def test_rejects_other_files_beside_the_modules(notebook, name):
    (notebook.folder / "results/cells").mkdir(parents=True)
    (notebook.folder / "results/cells" / name).touch()
    with pytest.raises(UserError, match=name):
        notebook.sweep()


def test_rejects_a_link_as_folder(notebook):
    for name in ("results", "elsewhere"):
        (notebook.folder / name).mkdir()
    (notebook.folder / "results/cells").symlink_to(notebook.folder / "elsewhere")
    with pytest.raises(UserError, match="results/cells"):
        notebook.sweep()
    assert list((notebook.folder / "elsewhere").iterdir()) == []


def test_a_changed_value_is_used(notebook):
    assert notebook.sweep() == 1.0
    notebook.run("FACTOR = 0.5")
    assert notebook.sweep("other") == 0.5
    notebook.run("FACTOR = 1.0")
    assert notebook.sweep() == 1.0


def test_an_unchanged_module_is_imported_once(notebook):
    notebook.sweep()
    first = registry["mine"]
    notebook.run("unused = 1")
    notebook.sweep("other")
    assert registry["mine"] is first


def test_a_deleted_module_is_written_again(notebook):
    notebook.sweep()
    (file,) = (notebook.folder / "results/cells").iterdir()
    file.unlink()
    notebook.sweep("other")
    assert file.is_file()


@pytest.mark.parametrize(
    ("cell", "name", "typed", "then"),
    [
        ("GAIN['a'] = 5.0", "GAIN", "GAIN = {'a': 5.0}", 5.0),
        ("GAIN['a'] = 5.0\n" + METHOD, "GAIN", "GAIN = {'a': 5.0}", 5.0),
        ("1 / 0\nFACTOR = 0.0", "FACTOR", "FACTOR = 1.0", 1.0),
        ("Mine.step = lambda self: 0.0", "Mine", METHOD, 1.0),
        ("1 / 0\n" + METHOD.replace("return", "return 2 *"), None, METHOD, 1.0),
    ],
)
@pytest.mark.parametrize("before", [False, True])
def test_rejects_a_value_that_the_runs_would_not_use(notebook, before, cell, name, typed, then):
    if before:
        notebook.sweep()
    notebook.run(cell)
    if name:
        with pytest.raises(UserError, match=name) as error:
            notebook.sweep("other")
        assert name == "Mine" or typed in str(error.value)
        notebook.run(typed)
    assert notebook.sweep("other") == then


def test_rejects_a_function_of_a_failed_cell(notebook):
    notebook.run("def double(x):\n    return 2 * x", METHOD.replace("FACTOR", "double(FACTOR)"))
    assert notebook.sweep() == 2.0
    notebook.run("1 / 0\ndef double(x):\n    return 3 * x")
    with pytest.raises(UserError, match="double"):
        notebook.sweep()


def test_rejects_an_attribute_that_the_class_has_from_an_earlier_value(notebook):
    notebook.run(
        "N = 3", "@registry.register('mine')\nclass Mine:\n    n = N\n    def step(self):\n        return self.n"
    )
    assert notebook.sweep() == 3
    notebook.run("N = 4")
    with pytest.raises(UserError, match="Mine"):
        notebook.sweep()


def test_two_methods_may_have_classes_of_one_name(notebook):
    notebook.run(METHOD.replace("'mine'", "'other'").replace("return", "return 2 *"))
    plugins.register_cells(notebook.folder / "results", ["algo=mine,other"])
    assert (registry["mine"]().step(), registry["other"]().step()) == (1.0, 2.0)


def test_values_that_the_module_changes_itself_are_no_difference(notebook):
    notebook.run("seen = []", METHOD.replace("return", "seen.append(1); return"))
    assert notebook.sweep() == 1.0
    assert notebook.sweep() == 1.0


def test_what_is_known_of_a_drawn_graph_is_forgotten_with_the_names(notebook):
    """Its spectrum is stored by its name, which the notebook may define again."""
    assert compute_once("ρ", 3, "a drawn graph", lambda: 0.5) == 0.5
    notebook.sweep()
    assert compute_once("ρ", 3, "a drawn graph", lambda: 0.9) == 0.9
