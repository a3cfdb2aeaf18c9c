"""Run configurations for tests, without Hydra."""

from __future__ import annotations

from typing import Any

from bench.base.registry import algorithms
from bench.config.run_config import RunConfig, parse
from bench.engine import stacked
from bench.store.record import Row
from bench.training.observer import Observer, Outcome

BASE: dict[str, Any] = {
    "algo": {"name": "dnasa"},
    "topology": {"name": "ring"},
    "links": {"name": "reliable"},
    "compressor": {"name": "none"},
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
    "sampling": "replacement",
    "dtype": "float64",
    "eval_every": 10,
    "eval_spacing": "linear",
    "checkpoint_every": None,
    "ranks": None,
    "jobs": None,
    "device": "cpu",
    "results": "results",
    "data_dir": None,
    "force": False,
    "stale": None,
}


STABLE: dict[str, dict[str, Any]] = {"deco": {"bound": 1000.0}}
"""Options of methods whose defaults overflow on the base."""


def config(**changes: Any) -> RunConfig:
    """The base with changes; ``algo="dsgt"`` stands for ``algo={"name": "dsgt"}``."""
    named = {k: {"name": v} if isinstance(v, str) and isinstance(BASE[k], dict) else v for k, v in changes.items()}
    algo = named.get("algo", BASE["algo"])
    return parse({**BASE, **named, "algo": {**_signature(algo["name"]), **STABLE.get(algo["name"], {}), **algo}})


def _signature(name: str) -> dict[str, Any]:
    """The values of the signature for options with a declared default, so that a new default changes no test."""
    if name not in algorithms:
        return {}
    options = algorithms[name].stepsize_options()
    return {option: options[option].default for option in algorithms[name].defaults}


class Kept(Observer):
    """The rows and facts of every replica."""

    def __init__(self, replicas: int = 1) -> None:
        self.rows: list[list[Row]] = [[] for _ in range(replicas)]
        self.facts: list[Row] = [{} for _ in range(replicas)]
        self.ends: dict[int, Outcome] = {}

    def record(self, r: int, row: Row) -> None:
        self.rows[r].append(row)

    def learn(self, r: int, facts: Row) -> None:
        self.facts[r] |= facts

    def end(self, r: int, outcome: Outcome) -> None:
        self.ends[r] = outcome


def rows(*configs: RunConfig) -> list[list[Row]]:
    """The metrics of every configuration, run together as replicas."""
    kept = Kept(len(configs))
    stacked.run(configs, kept)
    return kept.rows
