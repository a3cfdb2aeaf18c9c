"""The source that this process has imported: hashes of all files, taken before their import.

Processes that compute import this module before any other of the suite. An edit during a sweep changes the files but
not the imported modules, and fingerprints must be those of the modules.
"""

from __future__ import annotations

import hashlib
import sys
import sysconfig
import time
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from bench.base.home import ROOT

FOLDERS = ("bench", "benchmarks", "algorithms", "datasets")
NOTHING = hashlib.sha256(b"").hexdigest()
RECENT_NS = 2_000_000_000
"""Nanoseconds after a change in which a second one may leave the times of a file as they are."""


def sha256(file: Path) -> str:
    """Return the sha256 of a file as it is now, without reading it again if its times and size are the same."""
    now = file.stat()
    recent = abs(time.time_ns() - max(now.st_mtime_ns, now.st_ctime_ns)) < RECENT_NS
    read = _sha256.__wrapped__ if recent else _sha256
    # a file of the system such as /proc/self/pagemap has no size, and may have no end
    return read(file, now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino) if now.st_size else NOTHING


@lru_cache(maxsize=64)  # every run of a sweep asks, and a file of weights may be large
def _sha256(file: Path, *unchanged: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _hash(file: Path) -> str:
    try:
        return (_sha256.__wrapped__ if file.suffix == ".py" else sha256)(file)
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


def digest_modules(names: Iterable[str]) -> None:
    """Hash the files of modules that have just been imported: plug-ins and what they import, but no libraries."""
    libraries = {Path(place).resolve() for place in sysconfig.get_paths().values()}
    for module in map(sys.modules.get, names):
        place = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(place, str) and place.endswith(".py"):
            for file in {Path(place), Path(place).resolve()} - {*_digests}:
                if libraries.isdisjoint(file.resolve().parents):
                    _outside.setdefault(file, _hash(file))


def _is_imported(file: Path) -> bool:
    found = [getattr(module, "__dict__", {}).get("__file__") for module in list(sys.modules.values())]
    alike = [Path(place) for place in found if isinstance(place, str) and place.endswith(file.name)]
    return any(place == file or place.resolve() == file.resolve() for place in alike)


def changed(modules_only: bool = False) -> list[str]:
    """Return the files of the suite and of plug-ins that were edited since they were hashed.

    Args:
        modules_only: Leave out files that this process has not imported, such as weights: the next run reads them.
    """
    unread = {file for file in _unimported if modules_only and not _is_imported(file)}
    known = {file: before for file, before in {**_digests, **_outside}.items() if file not in unread}
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
