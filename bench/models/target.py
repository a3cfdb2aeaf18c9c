"""The class or function that ``model.target`` names, and its arguments."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from bench.base.errors import UserError, closest


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
    """Return the file of the target's module, which may only name a class of another one, and the files in kwargs."""
    found(target)  # imports the module
    home = getattr(sys.modules[target.rpartition(":")[0]], "__file__", None)
    named = [home, *_texts(kwargs)]
    return [Path(name).resolve() for name in named if name and os.path.isfile(name)]  # noqa: PTH113 - accepts any name


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
