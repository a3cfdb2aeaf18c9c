"""Errors of the analysis and their messages."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import wraps
from pathlib import Path

from bench.base.errors import nearest
from bench.terminal.command import command, say


class NoData(Exception):
    """A figure, table or statistic has no data. The message says why, in one sentence.

    Example:
        >>> raise NoData("no run has a tracking error")
    """


def trouble(error: Exception, function: Callable[..., object]) -> str:
    """What a figure or table raised, and in which line of its own file: KeyError: 'x' (my_figure.py, line 12)."""
    home = inspect.getsourcefile(function)
    frames = traceback.extract_tb(error.__traceback__)
    place = next((frame for frame in reversed(frames) if frame.filename == home), None)
    line = place.lineno if place else inspect.unwrap(function).__code__.co_firstlineno  # what it returned, not raised
    return f"{type(error).__name__}: {error} ({Path(home or '?').name}, line {line})"


def perhaps(name: str, known: Iterable[str]) -> str:
    """What was probably meant, within a sentence that goes on with what there is."""
    near = nearest(name, known)
    return f" (did you mean '{near}'?)" if near else ""


Main = Callable[..., int]


def in_sentences(nothing: str) -> Callable[[Main], Main]:
    """For a command's ``main``: without data, or without a place to write, it says so and returns 2."""

    def decorate(main: Main) -> Main:
        @command
        @wraps(main)
        def careful(argv: Sequence[str] | None = None) -> int:
            try:
                return main(argv)
            except NoData as error:
                say(f"{nothing}: {error}.")
            except BrokenProcessPool:
                say("A process that draws was ended from outside; what was finished is there.")
            return 2

        return careful

    return decorate
