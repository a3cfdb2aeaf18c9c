"""Texts without control characters: labels, errors and logs may come from other people."""

from __future__ import annotations

import re

CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Characters that control a terminal or change the direction of text, except tabs and newlines."""


def visible(text: str) -> str:
    r"""Return the text with control characters escaped, as in \x1b."""
    return text if text.isprintable() else CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def in_line(text: str) -> str:
    r"""Return the text in one line, with newlines escaped as in \n, so that a label cannot add lines to an output."""
    return visible(text).replace("\n", "\\n")
