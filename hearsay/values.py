"""Comparison of the values of a notebook with those of the module that is made of its cells."""

from __future__ import annotations

import ast
import copyreg
import hashlib
import inspect
from collections.abc import Iterable, Mapping
from functools import cached_property
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
CYCLES = 10_000
"""Visits of objects that refer to each other, after which a value is described by its type only."""


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


def _or_type(value: Any, home: str) -> str:
    try:
        return _Description(home).of(value)
    except RecursionError:  # a container of too many levels, or too many objects that refer to each other
        return type(value).__qualname__


class _Description:
    """Describes the objects of one value, each once. Only objects that contain themselves are described repeatedly."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.within: set[int] = set()  # the ids of the objects that contain the present one
        self.known: dict[int, tuple[Any, str]] = {}  # with the object, so that no other one gets its id
        self.cycles = 0

    def of(self, value: Any) -> str:
        """Return a description of a value; raise ``RecursionError`` if its objects refer to each other too often."""
        kind = type(value).__qualname__
        match value:
            case None | bool() | int() | float() | complex() | str() | bytes() | range() | slice():
                return f"{kind} {value!r}"
        if id(value) in self.within:
            self.cycles += 1
            return f"{kind} contains itself"
        if id(value) in self.known:
            return self.known[id(value)][1]
        before = self.cycles
        self.within.add(id(value))
        parts = repr(self._parts(value))
        self.within.remove(id(value))
        description = f"{kind} {hashlib.sha256(parts.encode(errors='surrogatepass')).hexdigest()}"
        if self.cycles == before:
            self.known[id(value)] = value, description
        elif self.cycles > CYCLES:
            raise RecursionError
        return description

    def _parts(self, value: Any) -> Any:
        each = self.of
        if isinstance(value, torch.Tensor):
            wide = value.float() if value.dtype == torch.bfloat16 else value  # NumPy has no bfloat16
            return str(value.dtype), self._parts(wide.detach().cpu().numpy())
        match value:
            case np.ndarray() | np.generic() if value.dtype != object:
                content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
                return str(value.dtype), value.shape, content
            case np.ndarray():
                return value.shape, [each(one) for one in value.ravel()]
            case list() | tuple():
                return [each(one) for one in value]
            case dict():
                return sorted((each(key), each(one)) for key, one in value.items())
            case set() | frozenset():
                return sorted(map(each, value))
            case FunctionType() | type():
                return self._definition(value)
            case ModuleType():
                return value.__name__
            case Registry():  # each registration changes it
                return None
            case property() | staticmethod() | classmethod():
                return each(getattr(value, "fget", None) or getattr(value, "__func__", None))
            case pd.DataFrame():
                return each(value.columns), [each(value.iloc[:, k]) for k in range(value.shape[1])], each(value.index)
            case pd.Series():
                return str(value.dtype), each(value.name), each(value.index), each(value.to_numpy())
            case pd.Index():
                return str(value.dtype), each(list(value.names)), each(value.to_numpy())
        return self._state(value)

    def _state(self, value: Any) -> Any:
        """Return what a copy of an object would be made of; None if it cannot be copied and has no attributes."""
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            parts = reduce(value) if reduce else value.__reduce_ex__(4)
        except Exception:  # of any class, such as that of an open file
            return self.of(_without_caches(value, vars(value))) if hasattr(value, "__dict__") else None
        if isinstance(parts, str):
            return parts
        made_of, items = parts[:2], parts[3:5]  # the items of a list and of a dictionary are iterators
        state = [_without_caches(value, each) for each in parts[2:3]]
        return [self.of(each) for each in (*made_of, *state, *(list(some) for some in items if some is not None))]

    def _definition(self, value: FunctionType | type) -> Any:
        """Return the source of a function, or the functions and plain attributes of a class; of others their name."""
        if value.__module__ != self.home:
            return value.__module__, value.__qualname__
        if isinstance(value, type):
            own = {name: each for name, each in vars(value).items() if not _is_of_python(name, each)}
            return value.__qualname__, [base.__qualname__ for base in value.__mro__], self.of(own)
        inner = inspect.unwrap(value)
        return _source(inner), [self.of(getattr(inner, name, None)) for name in ("__defaults__", "__kwdefaults__")]


def _without_caches(value: Any, state: Any) -> Any:
    """Return the state of an object without the values of its cached properties, which it computes on first use."""
    if isinstance(state, tuple):  # of an object with slots
        return tuple(_without_caches(value, each) for each in state)
    if not isinstance(state, dict):
        return state
    caches = {
        name for base in type(value).__mro__ for name, each in vars(base).items() if isinstance(each, cached_property)
    }
    return {name: each for name, each in state.items() if name not in caches}


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
