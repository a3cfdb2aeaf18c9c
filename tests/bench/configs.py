"""Run configurations for tests, without Hydra."""

from __future__ import annotations

from typing import Any

from bench import stacked
from bench.config import RunConfig, parse
from bench.metrics import Row

BASE: dict[str, Any] = {
    "algo": {"name": "dnasa"},
    "topology": {"name": "ring"},
    "dataset": {"name": "synthetic", "dimension": 10, "evaluation": 100},
    "partition": {"name": "even"},
    "model": {"name": "linear"},
    "engine": {"name": "stacked"},
    "tracker": {"name": "none"},
    "nodes": 6,
    "steps": 40,
    "batch_size": 2,
    "seed": 0,
    "scale": 1.0,
    "init": "shared",
    "dtype": "float64",
    "eval_every": 10,
    "eval_spacing": "linear",
    "ranks": None,
    "device": "cpu",
    "results": "results",
    "force": False,
}


def config(**changes: Any) -> RunConfig:
    """The base with changes; ``algo="dsgt"`` stands for ``algo={"name": "dsgt"}``."""
    named = {k: {"name": v} if isinstance(v, str) and isinstance(BASE[k], dict) else v for k, v in changes.items()}
    return parse({**BASE, **named})


def rows(*configs: RunConfig) -> list[list[Row]]:
    """The metrics of every configuration, run together as replicas."""
    out: list[list[Row]] = [[] for _ in configs]
    stacked.run(configs, lambda r, row: out[r].append(row))
    return out
