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
from bench.terminal.visible import in_line


class NoData(Exception):
    """A figure, table or statistic has no data. The message says why, in one sentence.

    Example:
        >>> raise NoData("no run has a tracking error")
    """


def trouble(error: Exception, function: Callable[..., object]) -> str:
    """Return an error with its line in the file of the function, such as "KeyError: 'x' (my_figure.py, line 12)"."""
    home = inspect.getsourcefile(function)
    frames = traceback.extract_tb(error.__traceback__)
    place = next((frame for frame in reversed(frames) if frame.filename == home), None)
    line = place.lineno if place else inspect.unwrap(function).__code__.co_firstlineno  # its return value is wrong
    return f"{type(error).__name__}: {error} ({Path(home or '?').name}, line {line})"


def perhaps(name: str, known: Iterable[str]) -> str:
    """Return the nearest known name as " (did you mean 'x'?)", or an empty text."""
    near = nearest(name, known)
    return f" (did you mean '{near}'?)" if near else ""


Main = Callable[..., int]


def in_sentences(nothing: str) -> Callable[[Main], Main]:
    """Decorate the ``main`` of a command: it prints ``NoData`` and similar errors as a sentence, and returns 2."""

    def decorate(main: Main) -> Main:
        @command
        @wraps(main)
        def careful(argv: Sequence[str] | None = None) -> int:
            try:
                return main(argv)
            except NoData as error:
                say(in_line(f"{nothing}: {error}."))
            except BrokenProcessPool:
                say("A drawing process was killed. The files that were already written are complete.")
            return 2

        return careful

    return decorate
