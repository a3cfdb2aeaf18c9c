"""Modules made of notebook cells, which are imported only if their content is that of their name.

They lie in a results folder, into which others may have written. The folder is therefore not on the path of imports:
Python would also import other files in it, and compiled ones. The name of a module ends with the digest of its text.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any

FOLDER = "cells"
"""The folder of such modules in a results folder."""
FOLDERS = "HEARSAY_CELLS"
"""Environment variable with the folders of such modules, separated as in PATH."""
DIGITS = 32
"""Digits of the digest in the name of a module."""
NAME = re.compile(rf"cell_\w+_([0-9a-f]{{{DIGITS}}})", re.ASCII)


def name_of(item: str, text: str) -> str:
    """Return the name of the module with this text, which registers this item."""
    readable = re.sub(r"\W", "_", item, flags=re.ASCII)
    return f"cell_{readable}_{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"


class Finder(MetaPathFinder):
    """Finds these modules in the folders that the environment names, before Python searches its own path."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how to load a module; None if its name is not that of a cell, or no folder has it."""
        if not (digest := NAME.fullmatch(fullname)):
            return None
        folders = filter(None, os.environ.get(FOLDERS, "").split(os.pathsep))
        files = [Path(folder) / f"{fullname}.py" for folder in folders]
        there = [file for file in reversed(files) if os.path.lexists(file)]  # the folder of the latest sweep is last
        for file in there:
            content = _content(file)
            if hashlib.sha256(content).hexdigest().startswith(digest[1]):
                return spec_from_file_location(fullname, file, loader=Loader(fullname, file, content))
        if there:
            raise ImportError(f"{there[0]} does not have the content that its name states", path=str(there[0]))
        return None


class Loader(SourceFileLoader):
    """Executes the bytes that were checked, never a compiled file."""

    def __init__(self, fullname: str, file: Path, content: bytes) -> None:
        super().__init__(fullname, str(file))
        self.content = content

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the module."""
        code: CodeType = compile(self.content, self.path, "exec", dont_inherit=True)
        return code


def _content(file: Path) -> bytes:
    """Return the bytes of a regular file, empty for others; ``bench.store`` is above this package."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # for example a link
        return b""
    try:
        if file.parent.is_symlink() or not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(descriptor)
