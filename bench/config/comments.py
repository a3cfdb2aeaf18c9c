"""The comments in the yaml files of conf, which describe settings and options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

KEY = re.compile(r"\s*(?:- )?(?:override /)?(\w+):\s*([^#]*?)\s*(?:#\s*(.*))?")
MORE = re.compile(r"\s+#\s*(.*)")


class Described(NamedTuple):
    """A key of a yaml file."""

    value: str  # as it is written
    comment: str


def described(file: Path) -> dict[str, Described]:
    """Return each key with the comment behind it; indented lines of comment continue the one above."""
    found: dict[str, Described] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if found and (more := MORE.fullmatch(line)):
            key, (value, comment) = found.popitem()
            found[key] = Described(value, f"{comment} {more[1]}".strip())
        elif match := KEY.fullmatch(line):
            found[match[1]] = Described(match[2], match[3] or "")
    return found
