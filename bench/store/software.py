"""Compare the software and data of runs: the core, the files and datasets that they share, torch and NumPy."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

LIBRARIES = ("torch", "numpy")
"""Packages whose versions are compared."""
MADE = ("sources", "versions", "started")
"""Entries of a manifest that are compared."""
CORE = "core"
PLAIN = re.compile(r"[\w.+/-]{1,200}")
"""Valid names of files and versions. Others, as in a forged manifest, are shown as a digest."""
STAMP = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?", re.ASCII)
"""The beginning of a start time; an archive has the day alone."""
SHOWN = 3
"""Differences described in full; further ones are counted."""
VERSIONS, TYPED = 6, 20
"""The largest numbers of versions of one file in a warning, and of versions to exclude in its command."""


def software(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return hashes and versions by name: the core, the other files, the libraries. Empty for a manifest without source
    files, as in the archive of the paper."""
    sources, versions = manifest.get("sources"), manifest.get("versions")
    if not isinstance(sources, dict):
        return {}
    libraries = {name: versions[name] for name in LIBRARIES if name in versions} if isinstance(versions, dict) else {}
    return {_shown(name): _shown(str(version)) for name, version in {**sources, **libraries}.items()}


def _shown(text: str) -> str:
    """Return a name or version that can be printed and typed; different texts stay different."""
    return text if PLAIN.fullmatch(text) else f"sha256-{hashlib.sha256(ascii(text).encode()).hexdigest()[:16]}"


@dataclass
class Made:
    """The runs of one version."""

    runs: int = 0
    newest: str = ""
    algos: set[str] = field(default_factory=set)

    def add(self, runs: int, newest: str, algos: Iterable[str]) -> None:
        self.runs, self.newest = self.runs + runs, max(self.newest, newest)
        self.algos |= set(algos)

    def __str__(self) -> str:
        names = sorted(self.algos)
        methods = ", ".join(names[:3]) + f" and {len(names) - 3} more methods" * (len(names) > 3)
        newest = f", newest {self.newest[:16]}" if self.newest else ""
        return f"{self.runs} run{'s' * (self.runs != 1)} of {methods}{newest}"


Kinds = dict[tuple[tuple[str, str], ...], Made]
"""Runs by their software."""


def mixed(runs: Iterable[tuple[str, Mapping[str, Any]]]) -> str | None:
    """Return a warning if runs, given by method and manifest, were made with different software; else None.

    Two runs are comparable if their cores, all files that both used, and the versions of the libraries are equal.
    """
    kinds = _kinds(runs)
    if len(kinds) < 2:
        return None
    if unknown := kinds.pop((), None):
        rest = mixed_kinds(kinds)
        return (
            f"{unknown} come from an earlier version of hearsay, which did not record its source files. "
            "They may not be comparable with the others." + (f" {rest}" if rest else "")
        )
    return mixed_kinds(kinds)


def differing(runs: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Return the names of files, data and libraries that differ between runs, given by method and manifest."""
    kinds = _kinds(runs)
    names = dict.fromkeys(name for kind in kinds for name, _ in kind)
    return [name for name in names if len(_versions(name, kinds)) > 1]


def _kinds(runs: Iterable[tuple[str, Mapping[str, Any]]]) -> Kinds:
    kinds: Kinds = {}
    for algo, manifest in runs:
        made = kinds.setdefault(tuple(software(manifest).items()), Made())
        started = STAMP.match(str(manifest.get("started") or ""))
        made.add(1, started[0] if started else "", [str(algo)])
    return kinds


def mixed_kinds(kinds: Kinds) -> str | None:
    """Return a warning if two of these differ in a file or library that both have; else None."""
    names = dict.fromkeys(name for kind in kinds for name, _ in kind)
    different: dict[str, str] = {}
    older, rest, dated, count = list[str](), kinds, True, 0
    for name in sorted(names, key=lambda name: (name != CORE, name in LIBRARIES)):
        found, left = _versions(name, kinds), _versions(name, rest)
        if len(found) > 1:
            known = [f"{version} ({made})" for version, made in found.items()][-VERSIONS:]
            rest_of = f" and {len(found) - VERSIONS} more versions" * (len(found) > VERSIONS)
            different[name] = f"{name} {', '.join(known)}{rest_of}"
        if len(left) > 1:  # without the older runs, other differences may vanish, too
            *old, newest = left
            dated &= left[old[-1]].newest < left[newest].newest
            older += [f"{name}={','.join(old)}"]
            count += len(old)
            rest = {kind: made for kind, made in rest.items() if dict(kind).get(name, newest) == newest}
    if not different:
        return None
    shown = "; ".join([*different.values()][:SHOWN])
    more = f"; and {len(different) - SHOWN} more differences" * (len(different) > SHOWN)
    only = set(different) <= set(LIBRARIES)  # stale= compares only the source
    again = "all, add force=true" if only else "those of another source than the present one, add stale=rerun"
    which = "the older runs" if dated else "the runs of all versions but one"
    words = " ".join(older) if count <= TYPED else "NAME=VERSION,VERSION (their manifest.json has the versions)"
    return (
        "These runs were not made with the same software and data, which may explain differences between them: "
        f"{shown}{more}. To exclude {which} from figures, tables, pages and claims, "
        f"add --without {words}; to repeat {again}."
    )


def _versions(name: str, kinds: Kinds) -> dict[str, Made]:
    """Return the runs by their version of one file or library, the newest last."""
    found: dict[str, Made] = {}
    for kind, made in kinds.items():
        if (version := dict(kind).get(name)) is not None:
            found.setdefault(version, Made()).add(made.runs, made.newest, made.algos)
    return dict(sorted(found.items(), key=lambda item: (item[1].newest, item[1].runs, item[0])))
