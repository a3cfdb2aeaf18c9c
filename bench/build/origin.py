"""Checks that all processes of a run have the same source, libraries and data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.base import imported
from bench.build.fingerprint import combined, joined, libraries, sources
from bench.build.material import data_checksum
from bench.config.run_config import RunConfig

Origin = dict[str, Any]


def made_of(configs: Sequence[RunConfig]) -> Origin:
    """Return the hashes of the source files of these runs, library versions, and the checksum of each run's data."""
    found: dict[str, set[str]] = {}
    for config in configs:
        for name, digest in sources(config).items():
            found.setdefault(name, set()).add(digest)
    files = {name: digests.pop() if len(digests) == 1 else joined(sorted(digests)) for name, digests in found.items()}
    return {"files": files, "libraries": libraries(), "data": [data_checksum(config) for config in configs]}


AGAIN = "Start the same command again; finished runs are kept."


def disagreement(reported: Mapping[str, Any], meant: Origin, who: str) -> str | None:
    """Return a message if a process, called ``who``, has reported another origin than this command has."""
    theirs = reported.get("files") or {}
    other = sorted(name for name, digest in meant["files"].items() if theirs.get(name) != digest)
    if other:
        files = other[0] if len(other) == 1 else f"{other[0]} and {len(other) - 1} more files"
        edited = set(other) & set(imported.changed())
        why = "edited since this command was started" if edited else "not the same on all machines"
        return f"{who} has another version of {files}, {why}: its results would differ. {AGAIN}"
    theirs = reported.get("libraries") or {}
    for name, version in meant["libraries"].items():
        if theirs.get(name) != version:
            return (
                f"{who} has {name} {theirs.get(name)}, and this command has {name} {version}: its results would "
                f"differ. Install {name} {version} on all machines. {AGAIN}"
            )
    if reported.get("data") != meant["data"]:
        return f"{who} has other data than this command. The file must be the same on all machines. {AGAIN}"
    return None


def confirmed(config: RunConfig, reported: Sequence[Mapping[str, Any]], hosts: Mapping[int, str]) -> dict[str, Any]:
    """Return the entry of the manifest about the processes of a run: ranks, hosts, and reported fingerprints."""
    prints = {combined({name: one["files"][name] for name in sources(config)}) for one in reported}
    places = {host: [rank for rank in sorted(hosts) if hosts[rank] == host] for host in sorted(set(hosts.values()))}
    return {"workers": {"ranks": len(reported), "hosts": places, "fingerprints": sorted(prints)}}
