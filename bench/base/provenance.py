"""Where the rule of a method was read, and the marks of methods that no ranking includes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Provenance = Literal["paper", "code", "reconstructed", "unstated"]
PROVENANCE: Mapping[str, str] = {
    "paper": "verified in the paper's text",
    "code": "verified in the authors' code",
    "reconstructed": "reconstructed",
    "unstated": "not stated",
}
"""The values of ``provenance`` in words."""
MARKS: Mapping[str, str] = {
    "†": "rule not verified in the paper's text or the authors' code; not ranked",
    "‡": "unpublished method; not ranked",
}
"""The marks that follow the name of a method in tables, with their notes."""


def mark_of(provenance: str, published: bool) -> str:
    """Return the mark of a method, a key of ``MARKS``; empty for a published method with a verified rule."""
    if not published:
        return "‡"
    return "" if provenance in ("paper", "code") else "†"
