"""Declarations of methods and metrics in manifests: runs may disagree, and some may come from a stranger."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

Said = Iterable[tuple[str, dict[str, Any]]]
"""Names with a declaration, one per run."""
ENTRIES = ("label", "family", "cite", "more_is_better")
"""Entries that name or rank; others change with the versions of a method."""


def most_frequent(said: Said) -> dict[str, dict[str, Any]]:
    """Return the first declaration of each name; if runs disagree, the first of those that most runs have."""
    said = list(said)
    wrong, out = disputed(said), dict[str, dict[str, Any]]()
    for name, some in _counted(said).items():
        different = list(some.values())
        out[name] = (max(different, key=lambda one: one[0]) if name in wrong else different[0])[1]
    return out


def disputed(said: Said) -> dict[str, str]:
    """Return the names with different declarations, each with an entry that differs; a missing entry does not."""
    out: dict[str, str] = {}
    for name, some in _counted(said).items():
        different = [one for _, one in some.values()]
        for entry in ENTRIES:
            if len({json.dumps(one[entry], sort_keys=True) for one in different if entry in one}) > 1:
                out.setdefault(name, entry)
    return out


def _counted(said: Said) -> dict[str, dict[str, tuple[int, dict[str, Any]]]]:
    found: dict[str, dict[str, tuple[int, dict[str, Any]]]] = {}
    for name, one in said:
        some, text = found.setdefault(name, {}), json.dumps([one.get(entry) for entry in ENTRIES])
        count, first = some.get(text, (0, one))
        some[text] = count + 1, first
    return found
