"""Text that a terminal shows and does not obey: labels, errors and logs may be somebody else's."""

from __future__ import annotations

import re

CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Characters that a terminal obeys, or that turn the order of others: all but a tab and the end of a line."""


def visible(text: str) -> str:
    r"""The text with such characters written out, as \x1b."""
    return text if text.isprintable() else CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
