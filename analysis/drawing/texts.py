"""Texts in a figure that no font has, and dollars: around a formula, or a label's own."""

from __future__ import annotations

from functools import cache

from matplotlib.artist import Artist
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text

from bench.terminal.visible import visible


def tame(artist: Artist) -> None:
    """Texts in it between whose dollars is no formula are drawn as they are; they would end the whole figure."""
    for text in artist.findobj(Text):
        if isinstance(text, Text) and (words := visible(text.get_text())):
            text.set_text(words)
            text.set_parse_math(_is_math(words))


@cache
def _is_math(text: str) -> bool:
    if "$" not in text:
        return True
    try:
        MathTextParser("path").parse(text)
    except (ValueError, RuntimeError):
        return False
    return True
