"""What cannot be done is said in a sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import wraps

from bench.terminal.command import command


class NoData(Exception):
    """There is nothing to draw, and why."""


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
                print(f"{nothing}: {error}.", file=sys.stderr)
            except BrokenProcessPool:
                print("A process that draws was ended from outside; what was finished is there.", file=sys.stderr)
            return 2

        return careful

    return decorate
