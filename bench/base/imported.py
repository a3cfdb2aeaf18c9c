"""The source that this process has imported: hashes of all files, taken before their import.

Processes that compute import this module before any other of the suite. An edit during a sweep changes the files but
not the imported modules, and fingerprints must be those of the modules.
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
    except OSError:  # a deleted file counts as changed
        return "missing"


_digests = {file: _hash(file) for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")}
_outside: dict[Path, str] = {}


def is_ours(file: Path) -> bool:
    """Return whether a file belongs to the suite, as it was when this process started."""
    return file in _digests


def digest(file: Path) -> str:
    """Return the sha256 of a file at its import; for a plug-in at the first call, right after its import."""
    if file in _digests:
        return _digests[file]
    if file not in _outside:
        _outside[file] = _hash(file)
    return _outside[file]


def changed() -> list[str]:
    """Return the files of the suite and of plug-ins that were edited since their import."""
    known = {**_digests, **_outside}
    return sorted(name(file) for file, before in known.items() if _hash(file) != before)


@cache
def name(file: Path) -> str:
    """Return the path of a file below the suite or its package's parent folder, the same on every machine."""
    return file.relative_to(ROOT if file.is_relative_to(ROOT) else above(file)).as_posix()


def above(file: Path) -> Path:
    """Return the parent folder of a file or of its top-level package."""
    top = file.parent
    while (top / "__init__.py").exists():
        top = top.parent
    return top
