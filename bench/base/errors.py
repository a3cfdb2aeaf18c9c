"""Sentences that a user can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can put right; shown as a sentence, without a traceback."""


def closest(name: str, known: Iterable[str]) -> str:
    """Known names for an error message, the nearest one first where there is one."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"{hint} Known: {', '.join(known) or 'none'}."
