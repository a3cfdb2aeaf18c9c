"""Comparison of the values of a notebook with those of the module that is made of its cells."""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import torch

from bench.base.errors import UserError
from hearsay import cells

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SHOWN = 60
"""The longest value of an error message, in characters."""


def described(names: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return descriptions of the values of a module that stay if a value is changed in place; equal for equal values.

    Numbers, texts, arrays and containers are described completely, and so are functions and classes of the module.
    Other objects are described by their type.
    """
    home = values["__name__"]
    return {name: _or_type(values[name], home) for name in names if name in values}


def check_equal(known: Mapping[str, Any], module: Mapping[str, Any], main: Mapping[str, Any]) -> None:
    """Raise ``UserError`` if a value of the notebook is not that of its module, of which ``known`` is the description.

    A statement that changes a container in place is not part of the module. The later statements of a cell that failed
    are part of the module, although the notebook has not executed them.
    """
    for name, mine in described(sorted(known), main).items():
        if mine == known[name]:
            continue
        value = main[name]
        if isinstance(value, type | FunctionType):
            raise UserError(
                f"{name} of this notebook is not the one that the runs would use, which is made of the latest "
                f"statements of the cells. Execute the cell of {name} again, without errors."
            )
        text = repr(value)
        assign = f"{name} = {text}" if _is_literal(text) else f"one statement that sets all of {name}"
        raise UserError(
            f"{name} is {_short(text)} in this notebook. The runs would use {_short(repr(module[name]))}, which the "
            f"latest statement {name} = … of the cells gives. Execute {assign} in a cell of its own."
        )


def _is_literal(text: str) -> bool:
    try:
        return len(text) <= SHOWN and ast.literal_eval(text) is not ...
    except (ValueError, SyntaxError):
        return False


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"


def _or_type(value: Any, home: str) -> Any:
    try:
        return _description(value, home)
    except RecursionError:  # a container that contains itself
        return type(value).__qualname__


def _description(value: Any, home: str) -> Any:
    kind = type(value).__qualname__
    if isinstance(value, torch.Tensor):
        wide = value.float() if value.dtype == torch.bfloat16 else value  # NumPy has no bfloat16
        return kind, str(value.dtype), _description(wide.detach().cpu().numpy(), home)
    match value:
        case None | bool() | int() | float() | complex() | str() | bytes() | range() | slice():
            return kind, repr(value)
        case np.ndarray() | np.generic() if value.dtype != object:
            content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return kind, str(value.dtype), value.shape, content
        case list() | tuple():
            return kind, [_description(each, home) for each in value]
        case dict():
            pairs = ((_description(key, home), _description(each, home)) for key, each in value.items())
            return kind, sorted(pairs, key=repr)
        case set() | frozenset():
            return kind, sorted((_description(each, home) for each in value), key=repr)
        case FunctionType() | type():
            return _definition(value, home)
        case property() | staticmethod() | classmethod():
            return kind, _description(getattr(value, "fget", None) or getattr(value, "__func__", None), home)
        case SimpleNamespace():
            return kind, _description(vars(value), home)
    if is_dataclass(value):
        return kind, _description(vars(value), home) if hasattr(value, "__dict__") else None
    return kind


def _definition(value: FunctionType | type, home: str) -> Any:
    """Return the source of a function, or the functions and plain attributes of a class; of others only their name."""
    if value.__module__ != home:
        return value.__module__, value.__qualname__
    if isinstance(value, type):
        own = {name: each for name, each in vars(value).items() if not _is_of_python(name, each)}
        return value.__qualname__, [base.__qualname__ for base in value.__mro__], _description(own, home)
    inner = inspect.unwrap(value)
    defaults = [_description(getattr(inner, name, None), home) for name in ("__defaults__", "__kwdefaults__")]
    return _source(inner), defaults


def _source(function: Any) -> list[str]:
    """Return the syntax tree of a function; empty if it has no source.

    Bytecode would not do: it depends on the imports that are compiled together with a function.
    """
    code = getattr(function, "__code__", None)
    if code is None or not (text := cells.source_of(code.co_filename)):
        return []
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, FUNCTIONS))
    here = (node for node in nodes if getattr(node, "name", "<lambda>") == code.co_name)
    return [ast.dump(node) for node in here if cells.first_line(node) == code.co_firstlineno]


def _is_of_python(name: str, value: Any) -> bool:
    """Return whether an attribute of a class is one that Python sets, such as the name of its module."""
    special = name.startswith("__") and name.endswith("__")
    return special and (not isinstance(value, FunctionType) or "annotate" in name)
