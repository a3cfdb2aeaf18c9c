"""Texts without control and invisible characters: labels, errors and logs may come from other people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
"""Characters that control a terminal, change the direction of text or are invisible, except tabs and newlines."""


def visible(text: str) -> str:
    r"""Return the text with control and invisible characters escaped, as in \x1b."""
    return text if text.isascii() and text.isprintable() else CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def visible_parts(value: Any) -> Any:
    """Return a value for JSON whose texts and names are visible: a script turns escaped characters into raw ones."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible_parts(name): visible_parts(part) for name, part in value.items()}
    return [visible_parts(part) for part in value] if isinstance(value, list | tuple) else value


def in_line(text: str) -> str:
    r"""Return the text in one line, with newlines escaped as in \n, so that a label cannot add lines to an output."""
    return visible(text).replace("\n", "\\n")
