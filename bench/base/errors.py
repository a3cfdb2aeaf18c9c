"""Sentences that a user can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can put right; shown as a sentence, without a traceback."""


class Refused(UserError):
    """A combination that cannot be, of choices that are right by themselves: a sweep may leave it out and say so."""


def closest(name: object, known: Iterable[str]) -> str:
    """Known names for an error message, the nearest one first where there is one; the name may be no word at all."""
    known = sorted(known)
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"{hint} Known: {', '.join(known) or 'none'}."
