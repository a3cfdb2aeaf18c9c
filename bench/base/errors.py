"""Sentences that a user can act on."""

from __future__ import annotations

import difflib
import re
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path


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
