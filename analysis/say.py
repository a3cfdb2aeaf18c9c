"""What cannot be done is said in a sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps


class NoData(Exception):
    """There is nothing to draw, and why."""


Main = Callable[..., int]


def in_sentences(nothing: str) -> Callable[[Main], Main]:
    """For a command's ``main``: without data, or without a place to write, it says so and returns 2."""

    def decorate(main: Main) -> Main:
        @wraps(main)
        def careful(argv: Sequence[str] | None = None) -> int:
            try:
                return main(argv)
            except NoData as error:
                print(f"{nothing}: {error}.", file=sys.stderr)
            except OSError as error:
                print(f"Cannot write {error.filename}: {error.strerror}.", file=sys.stderr)
            return 2

        return careful

    return decorate
