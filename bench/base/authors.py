"""What an author of a plug-in may have got wrong: the line that raised an error, and a malformed state."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

TUPLE = "`mix` returns a tuple; write `({},) = mix(...)`"


def flaw(state: Any, shape: Sequence[int], t: int) -> str | None:
    """Return what is wrong with the type or a shape of the state after step t; None if nothing is.

    Args:
        state: What ``start`` or ``step`` returned.
        shape: The shape of x, (R, k, P).
        t: The number of steps made.
    """
    if "x" not in getattr(state, "_fields", ()):
        return f"the state after step {t} must be a NamedTuple with a field x, got {type(state).__name__}"
    for name, value in state._asdict().items():
        if isinstance(value, tuple):
            return f"state {name} is a tuple: {TUPLE.format(name)}"
        if not hasattr(value, "shape"):
            return f"state {name} must be a tensor after step {t}, got {type(value).__name__}"
        given, wanted, part = tuple(value.shape), tuple(shape), slice(None if name == "x" else 2)
        if given[part] != wanted[part]:
            return f"state {name} has the wrong shape {given} after step {t}; x is {wanted}"
    return None


def blamed(error: BaseException, cls: type) -> list[str]:
    """Return the line of the author's code that raised an error, as FILE:LINE: CODE, and its cause if it is known.

    Args:
        error: What a method or a compressor of this class raised.
        cls: The class. Its own file comes before those of the classes that it extends.
    """
    if (found := _last(error, cls)) is None:
        return []
    frame, number = found
    file = Path(frame.f_code.co_filename)
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    lines = [f"{shown}:{number}: {linecache.getline(str(file), number, frame.f_globals).strip()}"]
    if isinstance(error, TypeError | AttributeError) and "tuple" in str(error):
        names = [name for name, value in frame.f_locals.items() if type(value) is tuple]
        lines.append(f"{names[0]} is a tuple: {TUPLE.format(names[0])}" if names else TUPLE.format("x"))
    return lines


def _last(error: BaseException, cls: type) -> tuple[FrameType, int] | None:
    """Return the last frame of the author's package in a traceback, and its line."""
    frames = list(traceback.walk_tb(error.__traceback__))
    for package in (base.__module__.partition(".")[0] for base in cls.__mro__):
        theirs = [found for found in frames if found[0].f_globals.get("__name__", "").partition(".")[0] == package]
        if theirs and package != "bench":
            return theirs[-1]
    return None
