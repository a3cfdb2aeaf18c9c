"""Which source this process runs: every file hashed before it is imported, and asked again after.

Whatever computes imports this module before any other of the suite. An edit while a sweep is under way changes
the files, not what this process has imported; what it says of itself must be the latter.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from bench.base.home import ROOT

FOLDERS = ("bench", "benchmarks", "algorithms", "datasets")


def _hash(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:  # gone: another file is as good as a changed one
        return "missing"


_digests = {file: _hash(file) for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")}
_outside: dict[Path, str] = {}


def digest(file: Path) -> str:
    """sha256 of a file as it was imported; a plug-in's is taken when it is first asked for, right after its import."""
    if file in _digests:
        return _digests[file]
    if file not in _outside:
        _outside[file] = _hash(file)
    return _outside[file]


def changed() -> list[str]:
    """Files of the suite and of plug-ins that are no longer what this process has imported."""
    known = {**_digests, **_outside}
    return sorted(name(file) for file, before in known.items() if _hash(file) != before)


@cache
def name(file: Path) -> str:
    """As a person would call it, on every machine the same."""
    return file.relative_to(ROOT if file.is_relative_to(ROOT) else above(file)).as_posix()


def above(file: Path) -> Path:
    """The folder that a file, or the package it belongs to, lies in."""
    top = file.parent
    while (top / "__init__.py").exists():
        top = top.parent
    return top
