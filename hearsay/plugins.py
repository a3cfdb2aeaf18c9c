"""Plug-ins from files, notebook cells and scripts.

The processes that compute runs import a plug-in by the name of its module, and its file is part of the fingerprint of
a run. A class in a notebook cell has no module. Its source is therefore written to a file below the results folder,
from which ``bench.base.cells`` imports it.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bench.base import cells as modules
from bench.base import errors, imported, registry
from bench.base.errors import UserError, place
from bench.base.home import expanded
from bench.base.registry import MODULES, Registry, discover
from bench.store.files import write_text
from bench.store.regular import content_of, is_regular, make_folder
from hearsay import cells, values

if TYPE_CHECKING:
    from bench.config.run_config import RunConfig

FILE = "Write it to a file and call hearsay.plugin('mine.py')."
EDITED = "{file} was edited after its import. Restart Python, or the kernel of the notebook."
Item = tuple[Registry[Any], str]
"""A registered name."""


@dataclass
class Published:
    """A module made of cells: its file, the names that it registers, and its values right after its import."""

    file: Path
    items: set[Item]
    values: dict[str, Any]


_importing: list[str] = []
"""The plug-ins that are being imported."""
_published: dict[str, Published] = {}
"""The modules made of cells that register names at present."""


def plugin(path: str | Path) -> ModuleType:
    """Import a plug-in: a Python file or a package with methods, graphs, datasets, metrics, figures or others.

    Other processes compute the runs of plug-ins. They import the plug-in again, so it must be a file. hearsay does the
    same for names that a notebook cell or a script registers, when ``sweep`` is called.

    Args:
        path: A file such as ``"mine.py"``, or the folder of a package.

    Returns:
        The imported module.

    Raises:
        UserError: There is no such file, it cannot be imported, or it has been edited since it was imported.

    Example:
        >>> plugin("mine.py")
        >>> sweep(algo=["mine", "dsgd"], steps=200)
    """
    found = expanded(path).resolve()
    file = found / "__init__.py" if found.is_dir() else found
    if file.suffix != ".py" or not file.is_file():
        raise UserError(f"There is no plug-in '{path}'. Give a file such as mine.py, or a folder with an __init__.py.")
    module = ".".join(Path(imported.name(file)).with_suffix("").parts).removesuffix(".__init__")
    if not all(map(str.isidentifier, module.split("."))):
        raise UserError(f"'{path}' cannot be imported: '{module}' is not the name of a module. Rename the file.")
    folder = str(imported.above(file))
    if folder not in sys.path:
        sys.path.append(folder)
    made = _load(module, file)
    _environment("PYTHONPATH", folder, os.pathsep)
    return made


def register_cells(results: Path, words: Sequence[str]) -> None:
    """Make modules of the names that notebook cells or the running script have registered, and import them.

    Raises:
        UserError: A name that the settings in ``words`` use cannot be imported by other processes.
    """
    if _importing:
        raise UserError(
            f"The plug-in '{_importing[-1]}' starts a sweep when it is imported. In a script, call hearsay.sweep under "
            'if __name__ == "__main__":'
        )
    roots: dict[cells.Statement, list[Item]] = {}
    past = cells.history(sys.modules["__main__"])
    for one in registry.registries():
        for name, (file, line) in one.cells.items():
            if Path(file).is_file() and not _in_notebook(file):
                if one.file(name) is None:
                    plugin(file)
                continue
            source = cells.source_of(file)
            if root := cells.at_line(source, line) if source else None:
                roots.setdefault(root, []).append((one, name))
            elif _used((one, name), words):
                raise UserError(f"The source of the {one.kind} '{name}' is not available to other processes. {FILE}")
    for group in _groups({root: cells.with_needed(root, past) for root in roots}):
        items = [item for root in group if root in roots for item in roots[root]]
        try:
            made = _publish(group, items, results / modules.FOLDER, _names(group, roots))
            values.check_equal(_published[made].values, vars(sys.modules[made]), vars(sys.modules["__main__"]))
        except UserError:
            if any(_used(item, words) for item in items):
                raise


def _used(item: Item, words: Sequence[str]) -> bool:
    """Return whether a sweep may use a name: all runs use metrics, and an experiment may use any name."""
    typed = {part for word in words for part in re.split(r"[=,]", word)}
    return item[0] is registry.metrics or item[1] in typed or "experiment" in typed


def _in_notebook(file: str) -> bool:
    """Return whether a file is that of a cell: ipykernel may write cells to files for a debugger."""
    return "get_ipython" in vars(sys.modules["__main__"]) and bool(cells.source_of(file)) and "ipykernel" in file


def _groups(needed: dict[cells.Statement, list[cells.Statement]]) -> list[list[cells.Statement]]:
    """Return the statements of each module. Statements that register names are in one module only."""
    groups: list[list[cells.Statement]] = []
    for closure in needed.values():
        shared = [group for group in groups if any(root in group and root in closure for root in needed)]
        groups = [group for group in groups if group not in shared]
        groups.append(list(dict.fromkeys(each for part in (*shared, closure) for each in part)))
    return groups


def _names(group: Iterable[cells.Statement], roots: Iterable[cells.Statement]) -> set[str]:
    """Return the names that the statements of a module use or register, without names of several registered classes."""
    bound = Counter(name for root in roots for name in root.binds)
    own = {name for each in group if each in roots for name in each.binds}
    return {name for name in own.union(*(each.reads for each in group)) if bound[name] < 2}


def _publish(group: list[cells.Statement], items: list[Item], folder: Path, names: set[str]) -> str:
    """Write the statements to a module, import it in place of earlier versions, and return its name."""
    text = '"""Made from the cells of a notebook."""\n\n' + "\n\n".join(each.text for each in group) + "\n"
    module = modules.name_of(items[0][1], text)
    if known := _published.get(module):
        _written(known.file.parent, module, text)  # somebody may have deleted or edited it
        if known.items == {*items} and all(one.file(name) for one, name in items):
            return module
    file = _written(folder, module, text)
    for old in [old for old, other in _published.items() if not other.items.isdisjoint(items)]:
        _environment(MODULES, old, remove=True)
        del _published[old]
    sys.modules.pop(module, None)
    _forget()
    try:
        made = _load(module, file)
    except UserError as error:
        kinds = ", ".join(f"{one.kind} '{each}'" for one, each in items)
        raise UserError(f"Other processes cannot import the {kinds} of this notebook. {error} {FILE}") from error
    _published[module] = Published(file, {*items}, values.described(names, vars(made)))
    return module


def _written(folder: Path, module: str, text: str) -> Path:
    """Return the file of a module below the results folder, and write it unless it has this text."""
    try:
        place = make_folder(folder, parents=True).resolve()
        file = place / f"{module}.py"
        others = [each.name for each in folder.iterdir() if not each.name.startswith((".", "cell_", "__pycache__"))]
        if others:
            raise UserError(
                f"{folder / min(others)} is not a module made of notebook cells, and {folder} must not contain other "
                "files. Delete it, or type another results folder."
            )
        if os.pathsep in str(place):
            raise UserError(f"The folder of a module made of cells must not contain '{os.pathsep}', got {place}.")
        if not os.path.lexists(file) or not is_regular(file) or content_of(file) != text.encode():
            write_text(file, text)
    except OSError as error:
        raise UserError(errors.machine(error) or errors.unwritable(folder, error)) from error
    _environment(modules.FOLDERS, str(place), os.pathsep)
    return file


def refuse_edited(configs: Iterable[RunConfig]) -> None:
    """Reject runs whose source was edited: Python would compute them, or find them done, with what it has imported."""
    from bench.build.fingerprint import sources

    edited = set(imported.changed(modules_only=True))
    if edited and (used := sorted(edited & {name for config in configs for name in sources(config)})):
        raise UserError(EDITED.format(file=used[0]))


def _load(module: str, file: Path) -> ModuleType:
    discover()  # the names of the suite come first
    if (known := sys.modules.get(module)) is not None:
        if Path(str(known.__file__)).resolve() != file:
            raise UserError(f"Another module is called '{module}' ({known.__file__}). Rename {file}.")
        if imported.name(file) in imported.changed(modules_only=True):
            raise UserError(EDITED.format(file=file))
    importlib.invalidate_caches()
    before = set(sys.modules)
    _importing.append(module)
    try:
        made = importlib.import_module(module)
    except Exception as error:  # a plug-in may raise anything
        sys.modules.pop(module, None)
        if isinstance(error, UserError):
            raise
        raise UserError(f"Cannot import {file}: {type(error).__name__}: {error}{place(error, module)}.") from error
    finally:
        _importing.pop()
    imported.digest_modules({module, *sys.modules} - (before - {module}))
    _environment(MODULES, module)
    return made


def _environment(variable: str, word: str, separator: str = ",", remove: bool = False) -> None:
    """Add a word to a variable of the environment, which the processes that compute inherit."""
    words = [each for each in os.environ.get(variable, "").split(separator) if each and each != word]
    os.environ[variable] = separator.join(words if remove else [*words, word])


def _forget() -> None:
    """Clear the caches that depend on registered names."""
    from bench.network import cache
    from bench.sweep import preflight

    preflight._passed.clear()
    cache.forget()
    for name, module in list(sys.modules.items()):
        if name.startswith(("bench.build.", "bench.config.", "bench.sweep.")):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
