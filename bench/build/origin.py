"""Checks that all processes of a run have the same source, libraries, data and network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.base import imported
from bench.build.build import start_summary
from bench.build.fingerprint import combined, joined, libraries, sources
from bench.build.material import attributes, data_checksum, shards_checksum
from bench.build.network import mixing_of
from bench.build.probe import CLOSE, FAR, KEYED, SETTINGS, near, problem_summary
from bench.config.run_config import GROUPS, RunConfig

Origin = dict[str, Any]
Summaries = Sequence[Sequence[Sequence[float]] | None] | None


def made_of(configs: Sequence[RunConfig]) -> Origin:
    """Return hashes of the source files of these runs and library versions, and of each run data, start and network.

    A process reads the file of a setting when it needs it, so a file that the user edits changes the network and the
    run_id of processes that read it later.
    """
    found: dict[str, set[str]] = {}
    for config in configs:
        for name, digest in sources(config).items():
            found.setdefault(name, set()).add(digest)
    return {
        "files": {name: one.pop() if len(one) == 1 else joined(sorted(one)) for name, one in found.items()},
        "libraries": libraries(),
        "data": [[data_checksum(config), attributes(config)] for config in configs],
        "shards": _each(configs, ("dataset", "data_dir", "validation", "partition", "nodes", "seed"), shards_checksum),
        "starts": _each(configs, ("dataset", "data_dir", "loss", "model", "seed"), start_summary),
        "problems": _each(configs, SETTINGS, problem_summary),
        "networks": [mixing_of(config).certificate.hash for config in configs],
        "run_ids": [config.run_id for config in configs],
        "inputs": [[*_inputs(config)] for config in configs],
    }


def _each(configs: Sequence[RunConfig], settings: Sequence[str], compute: Callable[[RunConfig], Any]) -> list[Any]:
    """Return a value for each run, computed once for all runs with the same values of these settings."""
    keys, known = [config.key(*settings) for config in configs], dict[str, Any]()
    for key, config in zip(keys, configs, strict=True):
        if key not in known:
            known[key] = compute(config)
    return [known[key] for key in keys]


def _inputs(config: RunConfig) -> Iterator[str]:
    """Yield the settings of a run whose value is a file, as the user types them."""
    for group in GROUPS:
        for name, value in getattr(config, group).options.items():
            if isinstance(value, Path):
                yield f"{group}.{name}={value}"


AGAIN = "Start the same command again; finished runs are kept."


def disagreement(reported: Mapping[str, Any], meant: Origin, who: str) -> str | None:
    """Return a message if a process, called ``who``, has reported another origin than this command has."""
    theirs, ours = reported.get("files") or {}, meant["files"]
    other = sorted(name for name, digest in ours.items() if theirs.get(name) != digest)
    if other:
        edited = set(other) & set(imported.changed())
        why = "edited since this command was started" if edited else "not the same on all machines"
        return f"{who} has another version of {_first(other)}, {why}: its results would differ. {AGAIN}"
    if more := sorted(theirs.keys() - ours.keys()):  # a metric that the other ranks would wait for
        return (
            f"{who} has {_first(more)}, and this command does not: its results would differ. Use the same plug-ins "
            f"(HEARSAY_PLUGINS) on all machines. {AGAIN}"
        )
    theirs = reported.get("libraries") or {}
    for name, version in meant["libraries"].items():
        if theirs.get(name) != version:
            return (
                f"{who} has {name} {theirs.get(name)}, and this command has {name} {version}: its results would "
                f"differ. Install {name} {version} on all machines. {AGAIN}"
            )
    if reported.get("data") != meant["data"]:
        return f"{who} has other data than this command. The file must be the same on all machines. {AGAIN}"
    if reported.get("shards") != meant["shards"]:
        return (
            f"{who} divides the data among the nodes in another way than this command. A partition must draw only with "
            f"the generator that it receives. {AGAIN}"
        )
    if not _all_near(reported.get("starts"), meant["starts"]):
        return (
            f"{who} creates a model with other numbers than this command. A model must have the same initial "
            f"parameters and constants on all machines. {AGAIN}"
        )
    if not _all_near(reported.get("problems"), meant["problems"], FAR):
        return f"{who} computes other losses or gradients than this command. {KEYED}"
    for kind in ("networks", "run_ids"):
        theirs = reported.get(kind) or []
        for r, value in enumerate(meant[kind]):
            if theirs[r : r + 1] != [value]:
                return f"{who} {_other(kind, meant['inputs'][r])}: its results would differ. {AGAIN}"
    return None


def _first(files: Sequence[str]) -> str:
    """Return the first of these files, and how many more there are."""
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more files"


def _all_near(theirs: Summaries, ours: Summaries, far: float = CLOSE) -> bool:
    """Return whether the summaries of all runs agree up to rounding."""
    one, other = ([pair for run in all_runs or () for pair in run or ()] for all_runs in (ours, theirs))
    return near(one, other, far)


def _other(kind: str, inputs: Sequence[str]) -> str:
    """Return how a run differs whose network or run_id is another one; ``inputs`` are its files."""
    files = [name for name in inputs if kind == "run_ids" or name.startswith("topology.")]
    if not files:
        return f"has another {'mixing matrix' if kind == 'networks' else 'run_id'} than this command"
    why = "edited since this command was started, or not the same on all machines"
    return f"has another version of {' or '.join(files)}, {why}"


def confirmed(config: RunConfig, reported: Sequence[Mapping[str, Any]], hosts: Mapping[int, str]) -> dict[str, Any]:
    """Return the entry of the manifest about the processes of a run: ranks, hosts, and reported fingerprints."""
    prints = {combined({name: one["files"][name] for name in sources(config)}) for one in reported}
    places = {host: [rank for rank in sorted(hosts) if hosts[rank] == host] for host in sorted(set(hosts.values()))}
    return {"workers": {"ranks": len(reported), "hosts": places, "fingerprints": sorted(prints)}}
