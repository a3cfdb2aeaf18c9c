"""Modules of cells in a results folder of others: only the text of the name is executed."""

import importlib
import os
import py_compile
import sys

import pytest

import bench.base.registry  # noqa: F401 - it installs the finder
from bench.base.cells import FOLDERS, name_of

TEXT = "value = 1\n"
NAME = name_of("mine", TEXT)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDERS, str(tmp_path / "cells"))
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    (tmp_path / "cells").mkdir()
    yield tmp_path / "cells"
    sys.modules.pop(NAME, None)


def test_imports_the_text_and_no_compiled_file(folder):
    file = folder / f"{NAME}.py"
    file.write_text("value = 2\n")
    py_compile.compile(str(file), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    file.write_text(TEXT)
    made = importlib.import_module(NAME)
    assert (made.value, made.__file__) == (1, str(file))


def test_rejects_another_content(folder):
    (folder / f"{NAME}.py").write_text("value = 2\n")
    with pytest.raises(ImportError, match=f"{NAME}.py"):
        importlib.import_module(NAME)


def test_takes_the_folder_with_the_right_content(folder, monkeypatch):
    wrong = folder.parent / "wrong"
    wrong.mkdir()
    (wrong / f"{NAME}.py").write_text("value = 2\n")
    (folder / f"{NAME}.py").write_text(TEXT)
    monkeypatch.setenv(FOLDERS, os.pathsep.join([str(folder), str(wrong)]))
    assert importlib.import_module(NAME).value == 1


@pytest.mark.parametrize("kind", ["file", "folder", "fifo"])
def test_follows_no_link_and_does_not_wait(folder, kind):
    file = folder / f"{NAME}.py"
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "file":
        (folder.parent / "real.py").write_text(TEXT)
        file.symlink_to(folder.parent / "real.py")
    else:
        file.write_text(TEXT)
        folder.rename(folder.parent / "real")
        folder.symlink_to(folder.parent / "real")
    with pytest.raises(ImportError, match=f"{NAME}.py"):
        importlib.import_module(NAME)


@pytest.mark.parametrize("name", [NAME[:-1], "cell_mine", f"package.{NAME}"])
def test_other_names_are_left_to_python(folder, name):
    (folder / f"{name}.py").write_text(TEXT)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)
