"""The manifest of a run: the provenance of its results."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from bench import __version__
from bench.base.registry import MODULES
from bench.build.build import model_notes
from bench.build.fingerprint import fingerprint, libraries, parts
from bench.build.material import columns_of, describe_data
from bench.build.network import mixing_of, properties_of
from bench.build.probe import problem_summary
from bench.clock.choice import NONE
from bench.config.choices import Choice
from bench.config.run_config import SHORT, RunConfig
from bench.store.record import COLUMNS
from bench.training.metrics import describe_metrics


def describe_network(config: RunConfig) -> dict[str, Any]:
    """Return the certificate and the edges; of a large graph, the command that writes its edges."""
    facts = mixing_of(config).describe()
    if "edge_list" in facts:
        return facts
    options = {name: value for name, value in config.topology.options.items() if value is not None}
    words = [f"topology={config.topology.name}", *(f"topology.{name}={value}" for name, value in options.items())]
    seed = [f"seed={config.seed}"] if facts["drawn"] else []
    typed = shlex.join([*words, f"nodes={config.nodes}", *seed, "--edges", "FILE"])
    return {**facts, "edges_by": f"python bench/topology.py {typed}"}


def _plugins(config: RunConfig) -> dict[str, str]:
    """Return the environment that the same command needs: plug-ins and PYTHONPATH."""
    modules, path = os.environ.get(MODULES), os.environ.get("PYTHONPATH")
    out = {"plugins": modules} if modules else {}
    if path and (modules or config.model.name == "module"):
        below = [os.path.relpath(part) if part.startswith(str(Path.cwd())) else part for part in path.split(os.pathsep)]
        out["pythonpath"] = os.pathsep.join(below)
    return out


def describe(config: RunConfig, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the manifest: versions, source, machine, and the properties of method and graph.

    A resumed run keeps the data and columns of its manifest ``before``.
    """
    known = before or _of_data(config)
    return {
        "versions": {"hearsay": __version__, "python": platform.python_version(), **libraries()},
        "fingerprint": fingerprint(config),
        "sources": {**parts(config), **_input_parts(config, known.get("data") or {})},
        "started": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
        "host": {
            "name": platform.node(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            **({"gpu": torch.cuda.get_device_name()} if config.device == "cuda" else {}),
        },
        "engine": config.engine.name,
        "device": config.device,
        "algorithm": asdict(properties_of(config)),
        "mixing": describe_network(config),
        **{name: known[name] for name in ("data", "problem", "model", "columns", "metrics") if name in known},
        **_plugins(config),
    }


def _input_parts(config: RunConfig, data: Mapping[str, Any]) -> dict[str, str]:
    """Return names and checksums of the data and of all files that options name, for comparisons of runs."""
    covered = "dataset." if data.get("sha256") else ()
    names = {option: _file_name(config, option) for option in config.contents if not option.startswith(covered)}
    if graph := next((option for option in names if option.startswith("topology.")), None):
        names[graph] = _input_name(config, "graph", "topology")
    return {
        **({_input_name(config, "data", "dataset"): data["sha256"][:SHORT]} if data.get("sha256") else {}),
        **({_input_name(config, "attributes", "dataset"): _short(known)} if (known := data.get("attributes")) else {}),
        **{name: config.contents[option] for option, name in names.items()},
        **({_input_name(config, "network", "network"): config.network_content} if config.network.name != NONE else {}),
    }


def _file_name(config: RunConfig, option: str) -> str:
    """Return the name of the file of GROUP.OPTION, with a hash of its path: algo.weights/mine-1a2b3c4d."""
    group, _, name = option.partition(".")
    choice: Choice = getattr(config, group)
    return f"{option}/{choice.name}-{_short({name: str(choice.options[name])})[:8]}"


def _input_name(config: RunConfig, kind: str, group: str) -> str:
    """Return the name of an input, with a hash of its options: of a file it has the path, not the content."""
    choice: Choice = getattr(config, group)
    omitted = ("name", "content") if group == "network" else ("name",)
    chosen = {name: value for name, value in config.plain(identity_only=True)[group].items() if name not in omitted}
    chosen |= {name: str(value) for name, value in choice.options.items() if isinstance(value, Path)}
    return f"{kind}/{choice.name}{f'-{_short(chosen)[:8]}' * bool(chosen)}"


def _short(values: Mapping[str, Any]) -> str:
    """Return a hash of values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:SHORT]


def _of_data(config: RunConfig) -> dict[str, Any]:
    """Return the entries that need the dataset."""
    notes, described = model_notes(config), describe_metrics(columns_of(config))
    problem = problem_summary(config)
    return {
        "data": describe_data(config),
        **({"problem": problem} if problem else {}),
        **({"model": list(notes)} if notes else {}),
        "columns": [*COLUMNS, *described],
        **({"metrics": described} if described else {}),
    }
