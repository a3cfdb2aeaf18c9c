"""Sentences that a user can act on."""

from __future__ import annotations

import difflib
import errno
import re
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.base.machine import SHORTAGES, shortage


class UserError(Exception):
    """Something the user can put right; shown as a sentence, without a traceback."""


class Misfit(UserError):
    """A checkpoint that cannot be one of this run."""


class Refused(UserError):
    """A combination that cannot be, of choices that are right by themselves: a sweep may leave it out and say so."""


def place(error: BaseException, module: str) -> str:
    """(nets.py, line 12): the last line of a stranger's package that was reached; a SyntaxError says it itself."""
    frames = traceback.walk_tb(error.__traceback__)
    package = module.partition(".")[0]
    theirs = [(f.f_code.co_filename, n) for f, n in frames if f.f_globals.get("__name__", "").split(".")[0] == package]
    if not theirs or isinstance(error, SyntaxError):
        return ""
    return f" ({Path(theirs[-1][0]).name}, line {theirs[-1][1]})"


CLOSE = 0.7
"""The part of two words that must be the same for one to be taken for a slip of the other: eta is no slip of stale."""


def nearest(name: object, known: Iterable[str]) -> str | None:
    """The known name that was probably meant: one that is close, or the only one of which the name is a whole part, as
    batch is of batch_size; the name may be no word at all."""
    word, names = str(name).lower(), {each.lower(): each for each in sorted(known)}
    near = difflib.get_close_matches(word, names, n=1, cutoff=CLOSE)
    parts = near or [each for each in names if word in re.split(r"[_./]", each)]
    return names[parts[0]] if len(parts) == 1 else None


def closest(name: object, known: Iterable[str], meant: Sequence[str] | None = None) -> str:
    """Known names for an error message, before them what was probably ``meant``: the nearest, unless that is known."""
    known = sorted(known)
    near = [one for one in [nearest(name, known)] if one is not None] if meant is None else meant
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"{hint} Known: {', '.join(known) or 'none'}."


SHOWN = 600
"""Characters of an error that a terminal shows; the log has all of them."""


class Failure(Exception):
    """Why a run failed, in a sentence; and what there is to read about it."""

    def __init__(self, sentence: str, details: str = "") -> None:
        super().__init__(sentence)
        self.details = details


class StoreError(Failure):
    """The results folder does not take what a run has to keep."""


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """What fails inside is the results folder's fault, not the run's."""
    try:
        yield
    except OSError as error:
        raise StoreError(machine(error) or unwritable(path, error)) from error


def unwritable(path: Path, error: OSError) -> str:
    return f"Cannot write to the results folder '{path}': {error.strerror or error}."


def machine(error: BaseException) -> str | None:
    """A sentence, where it is this machine that lacks something."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # torch's, of a GPU
        return f"{SHORTAGES[errno.ENOMEM]} ({type(error).__name__}: {error})."
    return shortage(error) if isinstance(error, OSError) else None


def sentence(error: BaseException) -> str:
    """What ended a run, in the words of whoever knows best."""
    if isinstance(error, UserError | Failure):
        return str(error)
    return machine(error) or f"{type(error).__name__}: {error}"


def shortened(text: str) -> str:
    """For a terminal: the beginning and the end of what is too long."""
    if len(text) <= SHOWN:
        return text
    half = SHOWN // 2
    return f"{text[:half]} … ({len(text) - 2 * half} characters are in the log) … {text[-half:]}"
