"""Comparison of the values of a notebook with those of the module that is made of its cells."""

from __future__ import annotations

import ast
import copyreg
import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
import torch

from bench.base.errors import UserError
from bench.base.registry import Registry
from hearsay import cells

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SHOWN = 60
"""The longest value of an error message, in characters."""


def described(names: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return descriptions of the values of a module that stay if a value is changed in place; equal for equal values.

    Functions and classes of the module are described by their source, those of other modules by their names. Of an
    object that Python cannot copy, only the type and the attributes are described.
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
    except RecursionError:  # a container of too many levels
        return type(value).__qualname__


def _description(value: Any, home: str, within: frozenset[int] = frozenset()) -> Any:
    """Return a description of a value; ``within`` are the objects that contain it, by their ids."""
    kind = type(value).__qualname__
    if id(value) in within:
        return kind, "contains itself"
    each = partial(_description, home=home, within=within | {id(value)})
    if isinstance(value, torch.Tensor):
        wide = value.float() if value.dtype == torch.bfloat16 else value  # NumPy has no bfloat16
        return kind, str(value.dtype), each(wide.detach().cpu().numpy())
    match value:
        case None | bool() | int() | float() | complex() | str() | bytes() | range() | slice():
            return kind, repr(value)
        case np.ndarray() | np.generic() if value.dtype != object:
            content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return kind, str(value.dtype), value.shape, content
        case np.ndarray():
            return kind, value.shape, [each(one) for one in value.ravel()]
        case list() | tuple():
            return kind, [each(one) for one in value]
        case dict():
            return kind, sorted(((each(key), each(one)) for key, one in value.items()), key=repr)
        case set() | frozenset():
            return kind, sorted(map(each, value), key=repr)
        case FunctionType() | type():
            return _definition(value, home)
        case ModuleType():
            return kind, value.__name__
        case Registry():  # each registration changes it
            return kind
        case property() | staticmethod() | classmethod():
            return kind, each(getattr(value, "fget", None) or getattr(value, "__func__", None))
        case pd.DataFrame():
            return kind, each(value.columns), [each(value.iloc[:, k]) for k in range(value.shape[1])], each(value.index)
        case pd.Series():
            return kind, str(value.dtype), each(value.name), each(value.index), each(value.to_numpy())
        case pd.Index():
            return kind, str(value.dtype), each(list(value.names)), each(value.to_numpy())
    return kind, _state(value, each)


def _state(value: Any, each: Callable[[Any], Any]) -> Any:
    """Return what a copy of an object would be made of; None if it cannot be copied and has no attributes."""
    try:
        reduce = copyreg.dispatch_table.get(type(value))
        parts = reduce(value) if reduce else value.__reduce_ex__(4)
    except Exception:  # of any class, such as that of an open file
        return each(vars(value)) if hasattr(value, "__dict__") else None
    if isinstance(parts, str):
        return parts
    made_of, items = parts[:3], parts[3:5]  # the items of a list and of a dictionary are iterators
    return [*map(each, made_of), *(each(list(some)) for some in items if some is not None)]


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
