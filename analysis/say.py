"""What cannot be done is said in a sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import wraps


class NoData(Exception):
    """There is nothing to draw, and why."""


Main = Callable[..., int]


def in_sentences(nothing: str) -> Callable[[Main], Main]:
    """For a command's ``main``: without data, or without a place to write, it says so and returns 2; when it is
    interrupted it says so too, and where nobody reads on it is silent."""

    def decorate(main: Main) -> Main:
        @wraps(main)
        def careful(argv: Sequence[str] | None = None) -> int:
            try:
                return main(argv)
            except NoData as error:
                print(f"{nothing}: {error}.", file=sys.stderr)
            except BrokenPipeError:  # whoever read has read enough: the shell's word for it
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                return 141
            except OSError as error:
                print(f"Cannot write {error.filename}: {error.strerror}.", file=sys.stderr)
            except BrokenProcessPool:
                print("A process that draws was ended from outside; what was finished is there.", file=sys.stderr)
            except KeyboardInterrupt:
                print("Interrupted: what was finished is there, the rest is not.", file=sys.stderr)
                return 130
            return 2

        return careful

    return decorate
