"""Sentences that a user can act on."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path


class UserError(Exception):
    """Something the user can put right; shown as a sentence, without a traceback."""


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


def closest(name: object, known: Iterable[str]) -> str:
    """Known names for an error message, the nearest one first where there is one; the name may be no word at all."""
    known = sorted(known)
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"{hint} Known: {', '.join(known) or 'none'}."
