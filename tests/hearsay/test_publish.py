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
