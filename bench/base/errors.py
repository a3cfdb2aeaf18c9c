"""Errors that a user can act on, and their messages."""

from __future__ import annotations

import difflib
import errno
import re
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

CLOSE = 0.7
"""The similarity above which one word counts as a typo of another: eta is no typo of stale."""
OWN = "If it is your own, type export HEARSAY_PLUGINS=mine for mine.py; in Python, call hearsay.plugin('mine.py')."
SHOWN = 600
"""Characters of an error that a terminal shows; the log has all of them."""
SHORTAGES = {
    errno.EMFILE: "This process may not open more files: raise the limit (ulimit -n), or use fewer jobs or ranks",
    errno.ENFILE: "This machine cannot open more files: end other programs, or raise fs.file-max",
    errno.ENOMEM: "This machine has no memory left: use fewer jobs or ranks, or a smaller engine.memory_gb",
    errno.EAGAIN: "No more processes can be started: raise the limit (ulimit -u), or use fewer jobs or ranks",
    errno.ENOLCK: "The file system of the results folder has no locks to give: put it on another one (results=...)",
}


class UserError(Exception):
    """An error that the user can correct; commands print it without a traceback."""


class Misfit(UserError):
    """A checkpoint that does not belong to the run."""


class Refused(UserError):
    """An incompatible combination of valid choices, which a sweep skips and reports."""


class Failure(Exception):
    """The reason why a run failed, in one sentence, with details for the log."""

    def __init__(self, sentence: str, details: str = "") -> None:
        super().__init__(sentence)
        self.details = details


def place(error: BaseException, module: str) -> str:
    """Return the last line of a plug-in's package in a traceback, as in " (nets.py, line 12)".

    A SyntaxError already names its line.
    """
    frames = traceback.walk_tb(error.__traceback__)
    package = module.partition(".")[0]
    theirs = [(f.f_code.co_filename, n) for f, n in frames if f.f_globals.get("__name__", "").split(".")[0] == package]
    if not theirs or isinstance(error, SyntaxError):
        return ""
    return f" ({Path(theirs[-1][0]).name}, line {theirs[-1][1]})"


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is similar, or the only one with ``name`` as a part, as batch is of batch_size."""
    word, names = str(name).lower(), {each.lower(): each for each in sorted(known)}
    near = difflib.get_close_matches(word, names, n=1, cutoff=CLOSE)
    parts = near or [each for each in names if word in re.split(r"[_./]", each)]
    return names[parts[0]] if len(parts) == 1 else None


def closest(name: object, known: Iterable[str], meant: Sequence[str] | None = None) -> str:
    """Return the end of an error message: suggestions (default: the nearest known name), else all known names."""
    known = sorted(known)
    near = [one for one in [nearest(name, known)] if one is not None] if meant is None else meant
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else f" Known: {', '.join(known) or 'none'}."


def closest_or_own(name: str, known: Iterable[str], built_in: bool = False) -> str:
    """Return a similar name, or all known names and, unless they are built in, how to add one's own."""
    known = list(known)
    return closest(name, known) + ("" if built_in or nearest(name, known) else f" {OWN}")


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Raise an ``OSError`` of the body as a ``Failure`` of the results folder."""
    try:
        yield
    except OSError as error:
        raise Failure(machine(error) or unwritable(path, error)) from error


def unwritable(path: Path, error: OSError) -> str:
    file = Path(str(error.filename2 or error.filename or path))
    where = "" if file == path or file.name.startswith(".") else f"{file}: "  # a draft begins with a dot
    return f"Cannot write to '{path}': {where}{error.strerror or error}."


def shortage(error: OSError) -> str | None:
    """Return a message if the machine lacks a resource, None for other errors."""
    sentence = SHORTAGES.get(error.errno or 0)
    return sentence and f"{sentence} ({error.strerror})."


def machine(error: BaseException) -> str | None:
    """Return a message if the machine or its GPU lacks a resource, None for other errors."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # of torch
        return f"{SHORTAGES[errno.ENOMEM]} ({type(error).__name__}: {error})."
    return shortage(error) if isinstance(error, OSError) else None


def sentence(error: BaseException) -> str:
    """Return the message for an error that ended a run."""
    if isinstance(error, UserError | Failure):
        return str(error)
    return machine(error) or f"{type(error).__name__}: {error}"


def shortened(text: str, rest: str = "in the log") -> str:
    """Return the beginning and the end of a text that is too long for a terminal; ``rest``: where the others are."""
    if len(text) <= SHOWN:
        return text
    half = SHOWN // 2
    return f"{text[:half]} … ({len(text) - 2 * half} characters are {rest}) … {text[-half:]}"
