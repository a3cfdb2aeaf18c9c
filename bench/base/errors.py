"""Sentences that a user can act on."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path


class UserError(Exception):
    """Something the user can put right; shown as a sentence, without a traceback."""


def place(error: BaseException) -> str:
    """(nets.py, line 12): where a stranger's module raised something; nothing where only ours and Python's were met.

    A SyntaxError says so itself."""
    ours = Path(__file__).parents[1]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    theirs = [f for f in frames if not Path(f.filename).is_relative_to(ours) and "importlib" not in f.filename]
    theirs = [frame for frame in theirs if not Path(frame.filename).is_relative_to(ours.with_name("analysis"))]
    if not theirs or isinstance(error, SyntaxError):
        return ""
    return f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})"


def closest(name: object, known: Iterable[str]) -> str:
    """Known names for an error message, the nearest one first where there is one; the name may be no word at all."""
    known = sorted(known)
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"{hint} Known: {', '.join(known) or 'none'}."
