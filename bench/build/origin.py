"""What a run is made of, as the process that makes it has imported and loaded it: is it what was meant?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.base import imported
from bench.build.fingerprint import combined, libraries, sources
from bench.build.material import data_checksum
from bench.config.run_config import RunConfig

Origin = dict[str, Any]


def made_of(configs: Sequence[RunConfig]) -> Origin:
    """The files that count for these runs with their hashes; library versions; the checksum of each run's data."""
    files: dict[str, str] = {}
    for config in configs:
        files |= sources(config)
    return {"files": files, "libraries": libraries(), "data": [data_checksum(config) for config in configs]}


def disagreement(said: Mapping[str, Any], meant: Origin, who: str) -> str | None:
    """A sentence, where ``who`` would compute something else than was asked for."""
    theirs = said.get("files") or {}
    other = sorted(name for name, digest in meant["files"].items() if theirs.get(name) != digest)
    if other:
        files = other[0] if len(other) == 1 else f"{other[0]} and {len(other) - 1} more files"
        edited = set(other) & set(imported.changed())
        why = "edited since this command was started" if edited else "not the same on all machines"
        return (
            f"{who} has another version of {files}, {why}: its numbers would not be those of this run. "
            "Start the same command again; what is done stays done."
        )
    theirs = said.get("libraries") or {}
    for name, version in meant["libraries"].items():
        if theirs.get(name) != version:
            return (
                f"{who} has {name} {theirs.get(name)}, and this command has {name} {version}: its numbers would not be "
                f"those of this run. Install {name} {version} on all machines, then start the same command again; what "
                "is done stays done."
            )
    if said.get("data") != meant["data"]:
        return (
            f"{who} has other data than this command was started with. Is the file the same on all machines, and was "
            "it left alone? Start the same command again; what is done stays done."
        )
    return None


def confirmed(config: RunConfig, said: Sequence[Mapping[str, Any]], hosts: Mapping[int, str]) -> dict[str, Any]:
    """For the manifest: which processes made this run, where, and the fingerprint of what they said they imported."""
    prints = {combined(one["files"][name] for name in sources(config)) for one in said}
    places = {host: [rank for rank in sorted(hosts) if hosts[rank] == host] for host in sorted(set(hosts.values()))}
    return {"workers": {"ranks": len(said), "hosts": places, "fingerprints": sorted(prints)}}
