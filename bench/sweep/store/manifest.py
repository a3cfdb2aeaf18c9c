"""What a run's manifest says of where its numbers come from."""

from __future__ import annotations

import os
import platform
import shlex
import time
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import torch

from bench import __version__
from bench.base.registry import MODULES
from bench.config.run_config import RunConfig
from bench.engine.build import model_notes
from bench.engine.fingerprint import fingerprint, libraries, parts
from bench.engine.material import columns_of, describe_data
from bench.training.metrics import describe_metrics


@cache
def versions() -> dict[str, str]:
    return {"hearsay": __version__, "python": platform.python_version(), **libraries()}


def describe_network(config: RunConfig) -> dict[str, Any]:
    """The certificate and the edges; of a graph with too many of them, the command that writes them."""
    facts = config.mixing().describe()
    if "edge_list" in facts:
        return facts
    options = {name: value for name, value in config.topology.options.items() if value is not None}
    words = [f"topology={config.topology.name}", *(f"topology.{name}={value}" for name, value in options.items())]
    seed = [f"seed={config.seed}"] if facts["drawn"] else []
    typed = shlex.join([*words, f"nodes={config.nodes}", *seed, "--edges", "FILE"])
    return {**facts, "edges_by": f"python bench/topology.py {typed}"}


def _plugins(config: RunConfig) -> dict[str, str]:
    """What the same command needs in its environment: the plug-ins, and where they or the model's module lie."""
    modules, path = os.environ.get(MODULES), os.environ.get("PYTHONPATH")
    out = {"plugins": modules} if modules else {}
    if path and (modules or config.model.name == "module"):
        below = [os.path.relpath(part) if part.startswith(str(Path.cwd())) else part for part in path.split(os.pathsep)]
        out["pythonpath"] = os.pathsep.join(below)
    return out


def describe(config: RunConfig) -> dict[str, Any]:
    """Where the numbers come from: versions, source, machine, and the promises of method and graph."""
    return {
        "versions": versions(),
        "fingerprint": fingerprint(config),
        "sources": parts(config),
        "started": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
        "host": {
            "name": platform.node(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            **({"gpu": torch.cuda.get_device_name()} if config.device == "cuda" else {}),
        },
        "engine": config.engine.name,
        "device": config.device,
        "algorithm": asdict(config.declaration),
        "mixing": describe_network(config),
        "data": describe_data(config),
        **({"model": list(notes)} if (notes := model_notes(config)) else {}),
        **_plugins(config),
        **({"metrics": described} if (described := describe_metrics(columns_of(config))) else {}),
    }
