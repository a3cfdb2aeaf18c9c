"""Settings as Python values, and the words of a command line that mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.base.errors import UserError

PLAIN = re.compile(r"[A-Za-z_./][\w./@:-]*")
"""Texts that Hydra reads as a text without quotes, unless they mean a number, true, false or null."""
SHORT_FLOATS = ("float16", "float32")
"""Types of NumPy and torch whose 0.1 is not Python's, but is written 0.1 too."""
NOT_TEXT = re.compile(r"(?i)null|true|false|nan|[+-]?inf|[+-]?\.?\d.*")


def words(settings: Mapping[str, Any]) -> list[str]:
    """Return the words of a command line; a list, tuple, range or array of values is a sweep over them.

    Raises:
        UserError: A list is empty, or a value has a type that no setting has.
    """
    out = []
    for name, value in settings.items():
        if not _several(value):
            out.append(f"{name}={_word(name, value)}")
        elif values := [_word(name, each) for each in value]:
            out.append(f"{name}={','.join(values)}")
        else:
            raise UserError(f"{name} is an empty list. Give it at least one value.")
    return out


def _several(value: Any) -> bool:
    single = getattr(value, "ndim", None) == 0  # an array of one number
    return isinstance(value, Iterable) and not single and not isinstance(value, str | bytes | Mapping | Path)


def _word(name: str, value: Any) -> str:
    """Return one value as Hydra writes it; a list inside a list is the value of one run."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a number of NumPy or torch
        kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
        value = float(str(getattr(np, kind)(value.item()))) if kind in SHORT_FLOATS else value.item()
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str() | Path():
            return _text(str(value))
        case Mapping():
            return "{" + ",".join(f"{key}:{_word(name, one)}" for key, one in value.items()) + "}"
    if _several(value):
        return "[" + ",".join(_word(name, one) for one in value) + "]"
    raise UserError(
        f"{name} must be a number, a text, True, False, None or a list of them, got {value!r} ({type(value).__name__})."
    )


def _text(text: str) -> str:
    if PLAIN.fullmatch(text) and not NOT_TEXT.fullmatch(text):
        return text
    escaped = re.sub(r"(\\+)(?='|$)", r"\1\1", text).replace("'", "\\'")  # Hydra reads \\ as \ only before a quote
    return f"'{escaped}'"
