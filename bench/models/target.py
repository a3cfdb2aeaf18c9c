"""The class or function that ``model.target`` names, and its arguments."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from torch import nn

from bench.base.errors import UserError, closest

MOST = 1000
"""The largest number of files in a folder that ``model.kwargs`` names."""


def arguments(
    make: Callable[..., Any], given: dict[str, Any], inputs: tuple[int, ...], classes: int, name: str
) -> dict[str, Any]:
    """Return the arguments of a module; raise ``UserError`` if it does not accept them."""
    try:
        known = inspect.signature(make).parameters
    except (TypeError, ValueError):
        return given
    offered = {key: value for key, value in {"inputs": inputs, "classes": classes}.items() if key in known}
    takes_all = any(p.kind is p.VAR_KEYWORD for p in known.values())
    for key in given:
        if key not in known and not takes_all:
            raise UserError(f"{name} has no argument '{key}'.{closest(key, known)}")
    full = {**offered, **given}
    missing = [
        key
        for key, p in known.items()
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and key not in full
    ]
    if missing:
        example = ", ".join(f"{key}: …" for key in missing)
        raise UserError(f"{name} needs the arguments {', '.join(missing)}. Add 'model.kwargs={{{example}}}'.")
    return full


def files_of(target: str, kwargs: Mapping[str, Any]) -> list[Path]:
    """Return the file of the target's module, which may only name a class of another one, and the files in kwargs.

    Of a folder in kwargs, these are all its files.

    Raises:
        UserError: A folder has more than ``MOST`` files.
    """
    found(target)  # imports the module
    home = getattr(sys.modules[target.rpartition(":")[0]], "__file__", None)
    return [file for name in (home, *_texts(kwargs)) if name for file in _files(name)]


def _files(name: str | Path) -> list[Path]:
    if os.path.isfile(name):  # noqa: PTH113 - accepts any name
        return [Path(name).resolve()]
    if not os.path.isdir(name):  # noqa: PTH112
        return []
    some = list(islice((Path(home, file) for home, _, files in os.walk(name) for file in files), MOST + 1))
    if len(some) > MOST:
        raise UserError(
            f"model.kwargs names the folder {name}, which has more than {MOST} files. They would all count as source "
            "of the run. Name the files that the module reads, or a folder with these files only."
        )
    return [file.resolve() for file in some if file.is_file() and file.suffix != ".pyc"]


def _texts(value: Any) -> Iterator[str | Path]:
    """Yield the texts and paths in nested mappings and lists."""
    if isinstance(value, str | Path):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def found(target: str) -> Callable[..., Any]:
    """Return the class or function that a target names; raise ``UserError`` if there is none."""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise UserError(f"model.target must have the form package.module:Class; got {target}.")
    try:
        home = importlib.import_module(place)
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        hint = " Add its folder to PYTHONPATH." if isinstance(error, ModuleNotFoundError) else ""
        raise UserError(f"Cannot import model.target={target}: {type(error).__name__}: {error}.{hint}") from error
    item = home
    for part in name.split("."):
        if not hasattr(item, part):
            known = [key for key, made in vars(home).items() if inspect.isclass(made) and issubclass(made, nn.Module)]
            raise UserError(f"The module {place} has no '{name}'.{closest(name, known)}")
        item = getattr(item, part)
    if not callable(item):
        raise UserError(f"model.target={target} must be a class or function; it is a {type(item).__name__}.")
    return item
