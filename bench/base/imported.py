"""The source that this process has imported: hashes of all files, taken before their import.

Processes that compute import this module before any other of the suite. An edit during a sweep changes the files but
not the imported modules, and fingerprints must be those of the modules.
"""

from __future__ import annotations

import hashlib
import sys
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
_unimported: set[Path] = set()
"""Files of plug-ins that no module has been made of when they were hashed."""


def is_ours(file: Path) -> bool:
    """Return whether a file belongs to the suite, as it was when this process started."""
    return file in _digests


def digest(file: Path) -> str:
    """Return the sha256 of a file at its import; for a plug-in at the first call, right after its import.

    A file that a function imports later is read again in every call until then, because its import takes what is there.
    """
    if file in _digests:
        return _digests[file]
    if file in _unimported or file not in _outside:
        loaded = _is_imported(file)
        if not loaded or file not in _outside:
            _outside[file] = _hash(file)
        (_unimported.discard if loaded else _unimported.add)(file)
    return _outside[file]


def _is_imported(file: Path) -> bool:
    found = [getattr(module, "__dict__", {}).get("__file__") for module in list(sys.modules.values())]
    alike = [Path(place) for place in found if isinstance(place, str) and place.endswith(file.name)]
    return any(place == file or place.resolve() == file.resolve() for place in alike)


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
